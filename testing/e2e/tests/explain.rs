//! `explain` says what the proxy does: for requests made from every match of every example, the two are compared.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

use std::collections::BTreeSet;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

use portcullis_api::Object;
use portcullis_e2e::http::Connection;
use portcullis_e2e::verdict::WHY;
use portcullis_e2e::{Portcullis, Verdict, ports, program};
use serde_json::Value;

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Request {
    method: String,
    host: String,
    target: String,
    headers: Vec<(String, String)>,
}

#[test]
fn explain_says_what_the_proxy_does() {
    let mut asked = 0;
    for example in examples() {
        let requests = requests(&example);
        let offset = ports::free_offset(&[80, 443, 8080, 8443]);
        let offset_text = offset.to_string();
        let options = ["--echo", "--debug-header", WHY, "--trusted-proxies", "127.0.0.0/8", "--port-offset"];
        let _program = Portcullis::run(&example, options.iter().copied().chain([offset_text.as_str()]));
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 80 + offset));
        if Connection::open(address).is_err() {
            continue; // an example of HTTPS alone
        }
        for request in requests {
            let done = done(&mut Connection::open(address).unwrap(), &request);
            let said = said(&example, &request, offset, &done);
            assert_eq!(said, done, "{} of {}", request.line(), example.display());
            asked += 1;
        }
    }
    println!("{asked} requests were explained as they were served");
    assert!(asked >= 150, "only {asked} requests were compared");
}

fn examples() -> Vec<PathBuf> {
    let folder = program::root().join("examples");
    let entries = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
    let mut found: Vec<PathBuf> =
        entries.filter(|path| path.is_dir() || path.extension().is_some_and(|end| end == "yaml")).collect();
    found.sort();
    assert!(found.len() > 5, "the examples are in {}", folder.display());
    found
}

/// Requests that fit each match of each route, and ones that miss it by a little.
fn requests(example: &Path) -> BTreeSet<Request> {
    let loaded = portcullis_files::load(&[example.to_path_buf()]);
    let mut requests = BTreeSet::new();
    for object in &loaded.objects {
        let Object::HttpRoute(route) = object else { continue };
        let route = serde_json::to_value(&**route).unwrap();
        let hosts = items(&route["spec"]["hostnames"]);
        let hosts = hosts.iter().filter_map(|host| host.as_str()).map(|host| host.replace("*.", "any.of."));
        let hosts: Vec<String> = hosts.chain(["elsewhere.test".to_owned()]).collect();
        for rule in items(&route["spec"]["rules"]) {
            for entry in items(&rule["matches"]) {
                for host in &hosts {
                    requests.extend(around(entry, host));
                }
            }
        }
    }
    requests
}

fn items(list: &Value) -> &[Value] {
    list.as_array().map(Vec::as_slice).unwrap_or_default()
}

fn around(entry: &Value, host: &str) -> Vec<Request> {
    let path = entry["path"]["value"].as_str().unwrap_or("/").to_owned();
    let pairs = |list: &Value| -> Vec<(String, String)> {
        let text = |pair: &Value, name: &str| pair[name].as_str().unwrap().to_owned();
        items(list).iter().map(|pair| (text(pair, "name"), text(pair, "value"))).collect()
    };
    let query = pairs(&entry["queryParams"]);
    let query: Vec<String> = query.into_iter().map(|(name, value)| format!("{name}={value}")).collect();
    let target = if query.is_empty() { path.clone() } else { format!("{path}?{}", query.join("&")) };
    let fit = Request {
        method: entry["method"].as_str().unwrap_or("GET").to_owned(),
        host: host.to_owned(),
        target,
        headers: pairs(&entry["headers"]),
    };
    let wrong = |(name, value): &(String, String)| (name.clone(), format!("not-{value}"));
    let below = format!("{}/below/../x%41?a=b", path.trim_end_matches('/'));
    vec![
        Request { headers: Vec::new(), ..fit.clone() },
        Request { method: "PUT".to_owned(), ..fit.clone() },
        Request { target: below, ..fit.clone() },
        Request { target: format!("{path}x"), ..fit.clone() },
        Request { target: "/no%where".to_owned(), ..fit.clone() },
        Request { target: "/".to_owned(), method: "POST".to_owned(), ..fit.clone() },
        Request { headers: fit.headers.iter().map(wrong).collect(), ..fit.clone() },
        Request { host: fit.host.to_uppercase(), ..fit.clone() },
        fit,
    ]
}

impl Request {
    fn line(&self) -> String {
        format!("{} http://{}{} {:?}", self.method, self.host, self.target, self.headers)
    }
}

fn done(connection: &mut Connection<std::net::TcpStream>, request: &Request) -> Verdict {
    let mut head =
        format!("{} {} HTTP/1.1\r\nHost: {}\r\n{WHY}: 1\r\n", request.method, request.target, request.host);
    for (name, value) in &request.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str("Content-Length: 0\r\n\r\n");
    connection.send(head.as_bytes()).unwrap();
    let answer =
        connection.receive(&request.method).unwrap_or_else(|cause| panic!("{}: {cause}", request.line()));
    Verdict::met(&answer)
}

fn said(example: &Path, request: &Request, offset: u16, done: &Verdict) -> Verdict {
    let url = format!("http://{}:{}{}", request.host, 80 + offset, request.target);
    let mut words = vec!["explain".to_owned(), request.method.clone(), url];
    for (name, value) in request.headers.iter().chain([&("Host".to_owned(), request.host.clone())]) {
        words.extend(["-H".to_owned(), format!("{name}: {value}")]);
    }
    words.extend(["--from".to_owned(), example.display().to_string(), "-o".to_owned(), "json".to_owned()]);
    words.extend(["--port-offset".to_owned(), offset.to_string()]);
    let output = program::output(&words);
    let said: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|_| panic!("{words:?}: {}", String::from_utf8_lossy(&output.stderr)));
    Verdict::foretold(&said, done)
}
