//! The files of a volume, from what is known of what it names.

use std::{collections::BTreeMap, path::PathBuf};

use k8s_openapi::api::core::v1::{DownwardAPIVolumeFile, KeyToPath, Pod};

use super::Projection;
use crate::node::{
    fields,
    sources::{Inputs, Lacking, Source},
};

/// Files by their path below the volume.
pub(crate) type Files = BTreeMap<PathBuf, File>;

/// A file's bytes and permissions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct File {
    pub(crate) data: Vec<u8>,
    pub(crate) mode: u32,
}

/// The files of a volume; a later part's file takes the place of an earlier one's.
///
/// # Errors
/// When something that is not optional is not there.
pub(crate) fn files(parts: &[Projection], pod: &Pod, inputs: &Inputs) -> Result<Files, Lacking> {
    let mut files = Files::new();
    for part in parts {
        match part {
            Projection::Entries { source, items, optional, mode } => {
                files.extend(entries(source, items.as_deref(), *optional, *mode, inputs)?);
            }
            Projection::Facts { items, mode } => {
                files.extend(items.iter().map(|item| fact(item, pod, *mode)));
            }
            Projection::Token { claim, path, mode } => {
                let token = inputs.tokens.get(claim).ok_or(Lacking::Token)?;
                files.insert(PathBuf::from(path), file(token.as_bytes(), *mode));
            }
        }
    }
    Ok(files)
}

fn entries(
    source: &Source,
    items: Option<&[KeyToPath]>,
    optional: bool,
    mode: i32,
    inputs: &Inputs,
) -> Result<Vec<(PathBuf, File)>, Lacking> {
    let Some(entries) = inputs.entries(source, optional)? else {
        return Ok(Vec::new());
    };
    let Some(items) = items.filter(|items| !items.is_empty()) else {
        return Ok(entries.iter().map(|(key, data)| (PathBuf::from(key), file(data, mode))).collect());
    };
    let mut files = Vec::new();
    for item in items {
        match entries.get(&item.key) {
            Some(data) => files.push((PathBuf::from(&item.path), file(data, item.mode.unwrap_or(mode)))),
            None if optional => {}
            None => return Err(Lacking::Key(source.clone(), item.key.clone())),
        }
    }
    Ok(files)
}

fn fact(item: &DownwardAPIVolumeFile, pod: &Pod, mode: i32) -> (PathBuf, File) {
    let field = item.field_ref.as_ref().map(|field| field.field_path.as_str()).unwrap_or_default();
    let value = fields::metadata(pod, field).unwrap_or_default();
    (PathBuf::from(&item.path), file(value.as_bytes(), item.mode.unwrap_or(mode)))
}

fn file(data: &[u8], mode: i32) -> File {
    File { data: data.to_vec(), mode: u32::try_from(mode).unwrap_or(0o644) }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use k8s_openapi::api::core::v1::Volume;
    use serde_json::{Value, json};

    use super::{super::projections, *};
    use crate::node::sources::Claim;

    fn inputs() -> Inputs {
        let entries = |pairs: &[(&str, &str)]| {
            let owned = pairs.iter().map(|(key, value)| ((*key).to_owned(), value.as_bytes().to_vec()));
            Some(Arc::new(owned.collect()))
        };
        Inputs {
            sources: BTreeMap::from([
                (Source::Secret("tls".into()), entries(&[("tls.crt", "C"), ("tls.key", "K")])),
                (Source::ConfigMap("ca".into()), entries(&[("ca.crt", "A")])),
                (Source::Secret("none".into()), None),
            ]),
            tokens: BTreeMap::from([(Claim { audience: None, seconds: 3607 }, "T".to_owned())]),
        }
    }

    fn layout(volume: Value) -> Result<Vec<(String, String, u32)>, Lacking> {
        let mut volume = volume;
        volume["name"] = json!("v");
        let volume: Volume = serde_json::from_value(volume).unwrap();
        let metadata = json!({"metadata": {"name": "p", "namespace": "n"}});
        let pod: Pod = serde_json::from_value(metadata).unwrap();
        let files = files(&projections(&volume).unwrap(), &pod, &inputs())?;
        let text = |file: &File| String::from_utf8(file.data.clone()).unwrap();
        Ok(files.iter().map(|(path, file)| (path.display().to_string(), text(file), file.mode)).collect())
    }

    fn file_of(path: &str, text: &str, mode: u32) -> (String, String, u32) {
        (path.to_owned(), text.to_owned(), mode)
    }

    #[test]
    fn a_secret_without_items_shows_every_key() {
        let files = layout(json!({"secret": {"secretName": "tls", "defaultMode": 0o400}}));
        assert_eq!(files.unwrap(), [file_of("tls.crt", "C", 0o400), file_of("tls.key", "K", 0o400)]);
    }

    #[test]
    fn items_choose_keys_and_name_paths() {
        let items =
            json!([{"key": "tls.crt", "path": "a/crt"}, {"key": "tls.key", "path": "key", "mode": 0o600}]);
        let files = layout(json!({"secret": {"secretName": "tls", "items": items}}));
        assert_eq!(files.unwrap(), [file_of("a/crt", "C", 0o644), file_of("key", "K", 0o600)]);
    }

    #[test]
    fn what_is_missing_is_waited_for_unless_optional() {
        let missing = layout(json!({"secret": {"secretName": "none"}}));
        assert_eq!(missing, Err(Lacking::Source(Source::Secret("none".into()))));
        assert_eq!(layout(json!({"secret": {"secretName": "none", "optional": true}})), Ok(Vec::new()));
        let unread = layout(json!({"configMap": {"name": "new", "optional": true}}));
        assert_eq!(unread, Err(Lacking::Unread(Source::ConfigMap("new".into()))));
        let key = layout(json!({"configMap": {"name": "ca", "items": [{"key": "x", "path": "x"}]}}));
        assert_eq!(key, Err(Lacking::Key(Source::ConfigMap("ca".into()), "x".into())));
    }

    #[test]
    fn the_volume_of_a_service_account_holds_its_three_files() {
        let files = layout(json!({"projected": {"defaultMode": 0o644, "sources": [
            {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
            {"configMap": {"name": "ca", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
            {"downwardAPI": {"items": [{"path": "namespace", "fieldRef": {"fieldPath": "metadata.namespace"}}]}},
        ]}}));
        let expected =
            [file_of("ca.crt", "A", 0o644), file_of("namespace", "n", 0o644), file_of("token", "T", 0o644)];
        assert_eq!(files.unwrap(), expected);
    }
}
