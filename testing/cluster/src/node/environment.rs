//! The environment of a container.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Container, EnvFromSource, EnvVarSource, Pod};

use super::{
    expansion::expand,
    fields::{self, Addresses},
    sources::{Inputs, Lacking, Source},
};

/// Why a container cannot have its environment (yet).
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum EnvironmentError {
    #[error(transparent)]
    Lacking(#[from] Lacking),
    #[error("variable {0} takes a field that this node does not know")]
    Field(String),
}

/// The variables of a container over those of its image. `envFrom` comes first, then `env` in its
/// order, each of which may refer to what stands before it.
pub(crate) fn environment(
    container: &Container,
    pod: &Pod,
    addresses: Addresses,
    inputs: &Inputs,
    image: &BTreeMap<String, String>,
) -> Result<BTreeMap<String, String>, EnvironmentError> {
    let mut variables = image.clone();
    for from in container.env_from.iter().flatten() {
        variables.extend(entries(from, inputs)?);
    }
    for variable in container.env.iter().flatten() {
        let value = match &variable.value_from {
            Some(from) => taken(&variable.name, from, pod, addresses, inputs)?,
            None => Some(expand(variable.value.as_deref().unwrap_or_default(), &variables)),
        };
        variables.extend(value.map(|value| (variable.name.clone(), value)));
    }
    Ok(variables)
}

/// The entries of a Secret or ConfigMap under their keys, each after the prefix.
fn entries(from: &EnvFromSource, inputs: &Inputs) -> Result<Vec<(String, String)>, Lacking> {
    let (source, optional) = if let Some(secret) = &from.secret_ref {
        (Source::Secret(secret.name.clone()), secret.optional)
    } else if let Some(map) = &from.config_map_ref {
        (Source::ConfigMap(map.name.clone()), map.optional)
    } else {
        return Ok(Vec::new());
    };
    let prefix = from.prefix.as_deref().unwrap_or_default();
    let entries = inputs.entries(&source, optional.unwrap_or_default())?;
    Ok(entries.into_iter().flatten().map(|(key, value)| (format!("{prefix}{key}"), text(value))).collect())
}

/// None: the variable is left out, since what it takes is optional and not there.
fn taken(
    name: &str,
    from: &EnvVarSource,
    pod: &Pod,
    addresses: Addresses,
    inputs: &Inputs,
) -> Result<Option<String>, EnvironmentError> {
    if let Some(field) = &from.field_ref {
        let value = fields::variable(pod, addresses, &field.field_path);
        return value.map(Some).ok_or_else(|| EnvironmentError::Field(name.to_owned()));
    }
    let (source, key, optional) = if let Some(key) = &from.secret_key_ref {
        (Source::Secret(key.name.clone()), &key.key, key.optional)
    } else if let Some(key) = &from.config_map_key_ref {
        (Source::ConfigMap(key.name.clone()), &key.key, key.optional)
    } else {
        return Err(EnvironmentError::Field(name.to_owned()));
    };
    Ok(inputs.entry(&source, key, optional.unwrap_or_default())?.map(text))
}

fn text(value: &(impl AsRef<[u8]> + ?Sized)) -> String {
    String::from_utf8_lossy(value.as_ref()).into_owned()
}

#[cfg(test)]
mod tests {
    use std::{net::Ipv4Addr, sync::Arc};

    use serde_json::{Value, json};

    use super::*;

    fn resolve(container: Value) -> Result<Vec<(String, String)>, EnvironmentError> {
        let mut container = container;
        container["name"] = json!("c");
        let container: Container = serde_json::from_value(container).unwrap();
        let pod: Pod = serde_json::from_value(json!({"metadata": {"name": "p", "namespace": "n"}})).unwrap();
        let addresses = Addresses { pod: Ipv4Addr::new(10, 244, 0, 9), host: Ipv4Addr::new(10, 244, 0, 1) };
        let entries = |key: &str, value: &str| Some(Arc::new([(key.to_owned(), value.into())].into()));
        let inputs = Inputs {
            sources: BTreeMap::from([
                (Source::Secret("s".into()), entries("password", "hidden")),
                (Source::ConfigMap("m".into()), entries("LEVEL", "debug")),
                (Source::Secret("none".into()), None),
            ]),
            tokens: BTreeMap::new(),
        };
        let image = BTreeMap::from([("FROM_IMAGE".to_owned(), "1".to_owned())]);
        environment(&container, &pod, addresses, &inputs, &image).map(|all| all.into_iter().collect())
    }

    fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn literals_fields_and_entries_are_resolved_in_order() {
        let resolved = resolve(json!({
            "envFrom": [{"configMapRef": {"name": "m"}, "prefix": "P_"}],
            "env": [
                {"name": "NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
                {"name": "IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
                {"name": "PASSWORD", "valueFrom": {"secretKeyRef": {"name": "s", "key": "password"}}},
                {"name": "URL", "value": "http://$(IP)/$(NAME)?$(LATER)"},
                {"name": "LATER", "value": "x"},
                {"name": "FROM_IMAGE", "value": "2"},
                {"name": "EMPTY"},
            ],
        }));
        let expected = [
            ("EMPTY", ""),
            ("FROM_IMAGE", "2"),
            ("IP", "10.244.0.9"),
            ("LATER", "x"),
            ("NAME", "p"),
            ("PASSWORD", "hidden"),
            ("P_LEVEL", "debug"),
            ("URL", "http://10.244.0.9/p?$(LATER)"),
        ];
        assert_eq!(resolved.unwrap(), pairs(&expected));
    }

    #[test]
    fn what_is_missing_is_named_unless_optional() {
        let from = |optional: bool| {
            let key = json!({"name": "none", "key": "k", "optional": optional});
            resolve(json!({"env": [{"name": "A", "valueFrom": {"secretKeyRef": key}}]}))
        };
        assert_eq!(from(true).unwrap(), pairs(&[("FROM_IMAGE", "1")]));
        assert_eq!(from(false).unwrap_err().to_string(), "secret \"none\" not found");
        let key = json!({"name": "m", "key": "k"});
        let missing = resolve(json!({"env": [{"name": "A", "valueFrom": {"configMapKeyRef": key}}]}));
        assert_eq!(missing.unwrap_err().to_string(), "configmap \"m\" has no key \"k\"");
    }
}
