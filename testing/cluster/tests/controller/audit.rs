//! What the controller has asked of the API server, from its audit log.

use std::{
    fs::File,
    io::{Read, Seek, SeekFrom},
};

use portcullis_cluster_testing::{Cluster, audit::Asked};

/// Where the audit log was read last.
#[derive(Default)]
pub(crate) struct Audit {
    at: u64,
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
        text[..whole].lines().filter_map(Asked::read).collect()
    }

    /// What was written since the last time; the Lease, renewed all the time, apart.
    pub(crate) fn writes(&mut self, cluster: &Cluster) -> Vec<Asked> {
        let mut news = self.news(cluster);
        news.retain(|asked| !matches!(&*asked.verb, "get" | "list" | "watch") && asked.resource != "leases");
        news
    }
}
