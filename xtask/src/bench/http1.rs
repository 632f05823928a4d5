//! HTTP/1.1 proxying: CPU per request beside nginx, with one rule and with 10,000 under one host.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::Path;

use super::peer::{self, BODY, LOAD_CORE, PROXY_CORE, Server};
use super::report::{Figure, HEAD, ratio, row};
use super::{manifests, wrk};
use crate::measure;
use crate::process::{self, Failure, step};
use crate::tools::{self, NGINX, WRK};

/// Our CPU per request may be this much of nginx's.
const LIMIT_BESIDE_NGINX: f64 = 1.20;
/// With many rules our CPU per request may be this much of that with one.
const LIMIT_OF_MANY: f64 = 1.10;

/// How long and how often.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Pairs of runs, peer and proxy in turn.
    #[arg(long, default_value_t = 9)]
    pairs: usize,
    /// Seconds of load in each run.
    #[arg(long, default_value_t = 5)]
    seconds: u32,
    /// Rules of the large configuration.
    #[arg(long, default_value_t = 10_000)]
    rules: usize,
}

struct Field {
    nginx: Server,
    one: Server,
    many: Server,
}

/// Measures, prints a table, and fails beyond the limits.
pub(crate) fn run(options: &Options) -> Result<(), Failure> {
    tools::need(&[NGINX, WRK])?;
    step("release build", || {
        process::run(&mut process::cargo(&["build", "--release", "--package", "portcullis", "--locked"]))
    })?;
    let folder = std::env::temp_dir().join(format!("portcullis-bench-{}", std::process::id()));
    std::fs::create_dir_all(&folder).map_err(Failure::file(&folder))?;
    let measured = measure_in(&folder, options);
    let _ = std::fs::remove_dir_all(&folder);
    measured
}

fn measure_in(folder: &Path, options: &Options) -> Result<(), Failure> {
    let backend =
        peer::nginx(folder, "backend.conf", free_port()?, &[("BODY", BODY.replace('\n', "\\n"))], LOAD_CORE)?;
    let field = start_all(folder, backend.address, options.rules)?;
    let (mut nginx, mut one, mut many) = (Vec::new(), Vec::new(), Vec::new());
    for pair in 0..=options.pairs {
        let seconds = if pair == 0 { 2 } else { options.seconds }; // the first warms up and does not count
        // All three get the same requests: what differs is the configuration alone.
        let runs = [(&field.nginx, &mut nginx), (&field.one, &mut one), (&field.many, &mut many)];
        for (server, figures) in runs {
            let figure = run_once(folder, server, options.rules, seconds)?;
            if pair > 0 {
                figures.push(figure);
            }
        }
    }
    judge(&nginx, &one, &many, options.rules)
}

fn start_all(folder: &Path, backend: SocketAddr, rules: usize) -> Result<Field, Failure> {
    let upstream = [("BACKEND", backend.to_string())];
    let nginx = peer::nginx(folder, "nginx.conf", free_port()?, &upstream, PROXY_CORE)?;
    let ours = |rules: usize| {
        let address = free_port()?;
        peer::portcullis(&manifests::write(folder, address.port(), backend, rules)?, address)
    };
    Ok(Field { nginx, one: ours(1)?, many: ours(rules)? })
}

fn run_once(folder: &Path, server: &Server, rules: usize, seconds: u32) -> Result<Figure, Failure> {
    let size = answer_size(server.address, &manifests::path(rules / 2, rules))?;
    let before = measure::cpu(server.pid());
    let seen = wrk::load(folder, server.address, rules, seconds, size)?;
    let used = measure::cpu(server.pid()).since(before);
    Ok(Figure::new(used, seen.requests, seen.rate, seen.p99, measure::resident(server.pid())))
}

/// The size of one kept-alive answer, whose status and body are checked.
fn answer_size(address: SocketAddr, path: &str) -> Result<usize, Failure> {
    let answer = peer::get(address, path).map_err(|cause| Failure::Other(format!("{address}: {cause}")))?;
    let wrong = || Failure::Other(format!("{address}{path} answered:\n{answer}"));
    let (head, body) = answer.split_once("\r\n\r\n").ok_or_else(wrong)?;
    if !head.starts_with("HTTP/1.1 200 ") || body != BODY {
        return Err(wrong());
    }
    wrk_size(address, path).ok_or_else(wrong)
}

/// As many bytes as the answer has when the connection is kept, which may add or drop a header.
fn wrk_size(address: SocketAddr, path: &str) -> Option<usize> {
    use std::io::{Read, Write};
    let mut stream = std::net::TcpStream::connect(address).ok()?;
    write!(stream, "GET {path} HTTP/1.1\r\nHost: bench.example\r\n\r\n").ok()?;
    let mut answer = Vec::new();
    let mut part = [0; 4096];
    while !answer.ends_with(BODY.as_bytes()) {
        match stream.read(&mut part).ok()? {
            0 => return None,
            length => answer.extend_from_slice(part.get(..length)?),
        }
    }
    Some(answer.len())
}

fn judge(nginx: &[Figure], one: &[Figure], many: &[Figure], rules: usize) -> Result<(), Failure> {
    println!("\n{HEAD}");
    println!("{}", row("nginx, one location", nginx));
    println!("{}", row("Portcullis, one rule", one));
    println!("{}", row(&format!("Portcullis, {rules} rules on one host"), many));
    let beside = ratio(one, nginx, |figure| figure.cpu);
    let user = ratio(one, nginx, |figure| figure.user);
    let scale = ratio(many, one, |figure| figure.cpu);
    println!(
        "\nCPU/request, medians of {} pairs: {beside:.2} × nginx (limit {LIMIT_BESIDE_NGINX:.2}; user part {user:.2} ×);",
        one.len()
    );
    println!("{rules} rules: {scale:.3} × one rule (limit {LIMIT_OF_MANY:.2})");
    if beside > LIMIT_BESIDE_NGINX || scale > LIMIT_OF_MANY {
        return Err(Failure::Other("over the limit".to_owned()));
    }
    Ok(())
}

fn free_port() -> Result<SocketAddr, Failure> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0));
    listener
        .and_then(|socket| socket.local_addr())
        .map_err(|cause| Failure::Other(format!("no free port: {cause}")))
}
