//! What the controller has asked of the API server, from its audit log.

use std::{
    fs::File,
    io::{Read, Seek, SeekFrom},
};

use portcullis_cluster_testing::Cluster;
use serde_json::Value;

/// The user that the controller is.
const USER: &str = "system:serviceaccount:portcullis:portcullis";

/// Where the audit log was read last.
#[derive(Default)]
pub(crate) struct Audit {
    at: u64,
}

/// A request of the controller.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Asked {
    pub(crate) verb: String,
    pub(crate) group: String,
    /// With the subresource, if there is one.
    pub(crate) resource: String,
    pub(crate) name: String,
    pub(crate) code: u64,
}

impl Audit {
    /// What was asked since the last time.
    pub(crate) fn news(&mut self, cluster: &Cluster) -> Vec<Asked> {
        let Some(log) = cluster.log("audit") else { return Vec::new() };
        let mut file = File::open(log).unwrap();
        file.seek(SeekFrom::Start(self.at)).unwrap();
        let mut text = String::new();
        file.read_to_string(&mut text).unwrap();
        // The last line may not be whole yet.
        let whole = text.rfind('\n').map_or(0, |end| end + 1);
        self.at += whole as u64;
        text[..whole].lines().filter_map(asked).collect()
    }

    /// What was written since the last time; the Lease, renewed all the time, apart.
    pub(crate) fn writes(&mut self, cluster: &Cluster) -> Vec<Asked> {
        let mut news = self.news(cluster);
        news.retain(|asked| !matches!(&*asked.verb, "get" | "list" | "watch") && asked.resource != "leases");
        news
    }
}

fn asked(line: &str) -> Option<Asked> {
    let event: Value = serde_json::from_str(line).unwrap();
    if event["user"]["username"] != USER {
        return None;
    }
    let text = |pointer: &str| event.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
    let (resource, part) = (text("/objectRef/resource"), text("/objectRef/subresource"));
    Some(Asked {
        verb: text("/verb"),
        group: text("/objectRef/apiGroup"),
        resource: if part.is_empty() { resource } else { format!("{resource}/{part}") },
        name: text("/objectRef/name"),
        code: event["responseStatus"]["code"].as_u64().unwrap_or_default(),
    })
}
