//! [`Secret`]: as in the core group, but it never prints what it holds.

use std::{collections::BTreeMap, fmt, sync::Arc};

use k8s_openapi::{ByteString, api::core::v1, apimachinery::pkg::apis::meta::v1::ObjectMeta};

/// A Secret. `stringData` has gone into `data`.
#[derive(Clone, PartialEq)]
pub struct Secret {
    /// Name, namespace, labels and the like.
    pub metadata: ObjectMeta,
    /// The type, such as `kubernetes.io/tls`; `Opaque` if it names none.
    pub secret_type: Arc<str>,
    /// What it holds.
    pub data: BTreeMap<Arc<str>, SecretBytes>,
}

/// Bytes that are never printed.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct SecretBytes(Arc<[u8]>);

impl SecretBytes {
    /// The bytes, for those who know what they do.
    pub fn expose(&self) -> &[u8] {
        &self.0
    }
}

impl From<Vec<u8>> for SecretBytes {
    fn from(bytes: Vec<u8>) -> Self {
        Self(bytes.into())
    }
}

impl fmt::Debug for SecretBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{} bytes]", self.0.len())
    }
}

impl fmt::Debug for Secret {
    /// Without annotations, too: `kubectl apply` leaves a copy of the data there.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Secret")
            .field("namespace", &self.metadata.namespace)
            .field("name", &self.metadata.name)
            .field("secret_type", &self.secret_type)
            .field("data", &self.data)
            .finish()
    }
}

impl Secret {
    /// What it holds under a key.
    pub fn get(&self, key: &str) -> Option<&[u8]> {
        self.data.get(key).map(SecretBytes::expose)
    }
}

impl From<v1::Secret> for Secret {
    fn from(secret: v1::Secret) -> Self {
        let mut data: BTreeMap<Arc<str>, SecretBytes> = BTreeMap::new();
        for (key, ByteString(bytes)) in secret.data.into_iter().flatten() {
            data.insert(key.into(), bytes.into());
        }
        for (key, text) in secret.string_data.into_iter().flatten() {
            data.insert(key.into(), text.into_bytes().into());
        }
        Self {
            metadata: secret.metadata,
            secret_type: secret.type_.unwrap_or_else(|| "Opaque".to_owned()).into(),
            data,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn string_data_wins_over_data() {
        let secret = Secret::from(v1::Secret {
            data: Some([("k".to_owned(), ByteString(b"old".to_vec()))].into()),
            string_data: Some([("k".to_owned(), "new".to_owned())].into()),
            ..v1::Secret::default()
        });
        assert_eq!(secret.get("k"), Some(b"new".as_slice()));
        assert_eq!(&*secret.secret_type, "Opaque");
    }

    #[test]
    fn a_secret_never_prints_what_it_holds() {
        let secret = Secret::from(v1::Secret {
            metadata: ObjectMeta {
                annotations: Some([("last-applied".to_owned(), "hunter2".to_owned())].into()),
                ..ObjectMeta::default()
            },
            string_data: Some([("password".to_owned(), "hunter2".to_owned())].into()),
            ..v1::Secret::default()
        });
        assert!(!format!("{secret:?}").contains("hunter2"));
        assert!(format!("{secret:?}").contains("[7 bytes]"));
    }
}
