//! Many routes at once.

use futures::{StreamExt, TryStreamExt, stream};
use kube::{
    Api,
    api::{DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams},
};
use serde_json::{Value, json};

use crate::{
    site::SITE,
    stage::{Stage, our_parent, status},
};

/// Requests at a time.
const AT_A_TIME: usize = 16;

/// Routes of this site, made and changed in numbers.
pub(crate) struct Many {
    routes: Api<DynamicObject>,
}

impl Many {
    pub(crate) fn of(stage: &Stage) -> Self {
        Self { routes: stage.objects("v1", "HTTPRoute", SITE) }
    }

    pub(crate) async fn create(&self, numbers: impl IntoIterator<Item = usize>) {
        self.each(numbers, async |number| {
            let route = json!({
                "apiVersion": "gateway.networking.k8s.io/v1", "kind": "HTTPRoute",
                "metadata": {"namespace": SITE, "name": name(number)},
                "spec": {
                    "parentRefs": [{"name": "web"}],
                    "hostnames": [format!("{number}.example")],
                    "rules": [{"backendRefs": [{"name": "echo", "port": 80}]}],
                },
            });
            let route = serde_json::from_value(route).unwrap();
            self.routes.create(&PostParams::default(), &route).await.map(drop)
        })
        .await;
    }

    /// Moves routes to another host.
    pub(crate) async fn change(&self, numbers: impl IntoIterator<Item = usize>) {
        self.each(numbers, async |number| {
            let change = json!({"spec": {"hostnames": [format!("{number}.changed.example")]}});
            let change = Patch::Merge(change);
            self.routes.patch(&name(number), &PatchParams::default(), &change).await.map(drop)
        })
        .await;
    }

    pub(crate) async fn delete(&self, numbers: impl IntoIterator<Item = usize>) {
        self.each(numbers, async |number| {
            self.routes.delete(&name(number), &DeleteParams::default()).await.map(drop)
        })
        .await;
    }

    /// Whether each of the site's routes is accepted as it is now, and how many there are.
    pub(crate) async fn are_right(&self) -> (bool, usize) {
        let all = self.routes.list(&ListParams::default()).await.unwrap();
        (all.items.iter().all(is_right), all.items.len())
    }

    async fn each(
        &self,
        numbers: impl IntoIterator<Item = usize>,
        ask: impl AsyncFn(usize) -> Result<(), kube::Error>,
    ) {
        let asked = stream::iter(numbers).map(|number| ask(number)).buffer_unordered(AT_A_TIME);
        asked.try_collect::<Vec<()>>().await.unwrap();
    }
}

fn name(number: usize) -> String {
    format!("route-{number:04}")
}

fn is_right(route: &DynamicObject) -> bool {
    let conditions = our_parent(status(route)).and_then(|parent| parent["conditions"].as_array());
    let is_good = |condition: &Value| {
        condition["status"] == "True" && condition["observedGeneration"] == route.metadata.generation.unwrap()
    };
    conditions.is_some_and(|all| all.len() == 2 && all.iter().all(is_good))
}
