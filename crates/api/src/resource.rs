//! `resource!`: the struct of a kind, with metadata, spec and status.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use crate::kind::Kind;

/// An object of a kind of ours.
pub trait Resource {
    /// Its kind.
    const KIND: Kind;

    /// Its metadata.
    fn metadata(&self) -> &ObjectMeta;
}

/// The struct of a kind: `metadata`, `spec`, and a `status` where the kind has one.
macro_rules! resource {
    (
        $(#[$meta:meta])*
        pub struct $name:ident : $kind:ident {
            spec: $spec:ty,
            $(status: $status:ty $(= $default:expr)?,)?
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq)]
        pub struct $name {
            /// Name, namespace, labels and the like.
            pub metadata: k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta,
            /// What is wanted.
            pub spec: $spec,
            $(
                /// What is.
                pub status: Option<$status>,
            )?
        }

        impl $crate::resource::Resource for $name {
            const KIND: $crate::kind::Kind = $crate::kind::Kind::$kind;

            fn metadata(&self) -> &k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta {
                &self.metadata
            }
        }

        impl $crate::schema::Described for $name {
            fn schema() -> $crate::schema::Schema {
                use $crate::schema::Field;
                use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
                $crate::schema::Schema::object(
                    vec![
                        Field::of::<Option<std::sync::Arc<str>>>("apiVersion"),
                        Field::of::<Option<std::sync::Arc<str>>>("kind"),
                        Field::of::<ObjectMeta>("metadata"),
                        Field::of::<$spec>("spec"),
                        $(Field::of::<Option<$status>>("status") $(.if_absent($default))?,)?
                    ],
                    &[],
                )
            }

            fn read(value: serde_json::Value) -> Result<Self, $crate::schema::ReadError> {
                let serde_json::Value::Object(mut fields) = value else {
                    return Err($crate::schema::ReadError::mismatch("an object", &value));
                };
                Ok(Self {
                    metadata: $crate::schema::read_field(&mut fields, "metadata")?,
                    spec: $crate::schema::read_field(&mut fields, "spec")?,
                    $(status: $crate::schema::read_field::<Option<$status>>(&mut fields, "status")?,)?
                })
            }

            fn write(&self) -> Option<serde_json::Value> {
                let kind = <Self as $crate::resource::Resource>::KIND;
                let mut fields = serde_json::Map::new();
                fields.insert("apiVersion".to_owned(), kind.api_version().into());
                fields.insert("kind".to_owned(), kind.as_str().into());
                $crate::schema::write_field(&mut fields, "metadata", self.metadata.write());
                $crate::schema::write_field(&mut fields, "spec", self.spec.write());
                $($crate::schema::write_field(&mut fields, "status", <Option<$status>>::write(&self.status));)?
                Some(serde_json::Value::Object(fields))
            }
        }

        $crate::schema::serde_by_value!($name);
    };
}
pub(crate) use resource;
