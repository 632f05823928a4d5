//! `portcullis explain`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;
use portcullis_api::Diagnostic;
use serde::Serialize;

use super::{Question, below, explain, running, text};
use crate::controller::AccessOptions;
use crate::exit::{Failure, Outcome};
use crate::locality::LocalityOptions;
use crate::offline::Offline;
use crate::output::{self, Output};
use crate::render::{Paint, diagnostics_text};

/// Say which listener, route, rule, filters and endpoints a request meets, and why not the others
#[derive(Args, Debug)]
#[command(override_usage = "portcullis explain [OPTIONS] [METHOD] URL {--from PATH...|--context NAME}")]
#[command(after_help = "Examples:
  portcullis explain http://shop.localhost/ --from examples/quickstart
  portcullis explain POST https://shop.localhost/ -H 'x-version: 2' --from gateway.yaml -o json
  portcullis explain tls://db.example:5432 --from gateway.yaml

tls://HOST:PORT asks about a TLS connection that carries no requests, by its server name; tcp://HOST:PORT and
udp://HOST:PORT ask about what TCP and UDP listeners pass on.

A Host header (-H 'Host: NAME') is for the request, and the URL's host for the TLS handshake, as with curl.")]
pub(crate) struct Explain {
    /// The request: a method (default: GET) and a URL; or tls://, tcp:// or udp:// with host and port
    #[arg(value_name = "[METHOD] URL", required = true)]
    request: Vec<String>,
    /// A header of the request; may be repeated
    #[arg(short = 'H', long = "header", value_name = "NAME: VALUE")]
    headers: Vec<String>,
    /// A header as the filters of the listener leave it for the rules to see; may be repeated
    #[arg(long, value_name = "NAME: VALUE")]
    granted: Vec<String>,
    /// Files and folders (*.yaml, *.yml, *.json, recursively); - is standard input; may be repeated
    #[arg(long, value_name = "PATH", required_unless_present_any = ["kubeconfig", "context"], conflicts_with_all = ["kubeconfig", "context"])]
    from: Vec<PathBuf>,
    #[command(flatten)]
    access: AccessOptions,
    /// What `run` was told to add to every listener's port
    #[arg(long, value_name = "N", default_value_t = 0)]
    port_offset: u16,
    #[command(flatten)]
    locality: LocalityOptions,
    /// Ask a running proxy which endpoints it uses: where its /endpoints is served
    #[arg(long, value_name = "ADDR")]
    admin: Option<SocketAddr>,
    /// For whom to print it
    #[arg(short, long, value_name = "FORMAT", default_value = "text")]
    output: Output,
}

/// What is asked about.
enum Asked {
    Request(Question),
    /// Or a datagram.
    Connection(below::Question),
}

impl Explain {
    pub(crate) fn run(&self) -> Result<Outcome, Failure> {
        let (method, url, more) = self.request()?;
        let asked = self.asked(method, url)?;
        let paths: Vec<PathBuf> = self.from.iter().cloned().chain(more.iter().map(PathBuf::from)).collect();
        let offline = Offline::open(&paths, &self.access)?;
        let model = &offline.resolver.resolved().model;
        let running = self.admin.map(running::ask).transpose()?;
        match asked {
            Asked::Request(question) => {
                let mut answer = explain(model, &question);
                running.iter().for_each(|report| running::heed(report, "TCP", answer.endpoints()));
                self.print(&answer, |paint| text(&answer, paint))?;
                if !self.granted.is_empty() && answer.listener_filters.is_empty() {
                    eprintln!("note: the request meets no filter of a listener, so --granted has no effect");
                }
            }
            Asked::Connection(question) => {
                let mut answer = below::explain(model, &question);
                let transport = question.transport_name();
                running.iter().for_each(|report| running::heed(report, transport, answer.endpoints()));
                self.print(&answer, |paint| below::text(&answer, paint))?;
            }
        }
        // What was refused has no part in the answer: say so where it does not disturb a program.
        let refused: Vec<Diagnostic> = offline.refusals.into_iter().filter(Diagnostic::is_error).collect();
        eprint!("{}", diagnostics_text(&refused, Paint::stderr()));
        Ok(if refused.is_empty() { Outcome::Clean } else { Outcome::Refused })
    }

    /// What the command line asks about.
    fn asked(&self, method: Option<&str>, url: &str) -> Result<Asked, Failure> {
        let locality = self.locality.locality();
        let asked = match below::Question::parse(url) {
            Some(_) if method.is_some() || !self.headers.is_empty() || !self.granted.is_empty() => {
                return Err(Failure::usage("a connection has neither method nor headers"));
            }
            Some(question) => {
                question.map(|question| Asked::Connection(question.at(self.port_offset, locality)))
            }
            None => Question::new(method.unwrap_or("GET"), url, &self.headers)
                .and_then(|question| question.granted(&self.granted))
                .map(|question| Asked::Request(question.behind_offset(self.port_offset).at(locality))),
        };
        asked.map_err(|error| {
            let failure = Failure::usage(error.to_string());
            match error.is_of_url() {
                true => failure
                    .hint("write explain [METHOD] URL, such as http://a.example/path or tls://a.example:443"),
                false => failure,
            }
        })
    }

    fn print(&self, answer: &impl Serialize, text: impl Fn(Paint) -> String) -> Result<(), Failure> {
        match self.output {
            Output::Text => output::print(&text(Paint::stdout())),
            Output::Json => output::print_json(
                &serde_json::to_value(answer)
                    .map_err(|error| Failure::new(format!("cannot write JSON: {error}")))?,
            ),
        }
    }

    /// Method, if one is named, and URL, and what follows them: paths, after `--from`'s first.
    fn request(&self) -> Result<(Option<&str>, &str, &[String]), Failure> {
        let is_method = |word: &str| !word.contains(['/', ':', '.']);
        match self.request.as_slice() {
            [method, url, more @ ..] if is_method(method) => Ok((Some(method), url, more)),
            [url, more @ ..] => Ok((None, url, more)),
            [] => Err(Failure::usage("a URL is missing")),
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        explain: Explain,
    }

    fn parsed(words: &[&str]) -> (Option<String>, String, Vec<String>) {
        let line = Line::try_parse_from([&["explain"], words].concat()).unwrap();
        let (method, url, more) = line.explain.request().unwrap();
        (method.map(str::to_owned), url.to_owned(), more.to_vec())
    }

    #[test]
    fn the_method_may_be_left_out_and_paths_may_follow() {
        let expected = |method: Option<&str>, more: &[&str]| {
            let method = method.map(str::to_owned);
            (method, "http://a/".to_owned(), more.iter().map(|one| (*one).to_owned()).collect())
        };
        assert_eq!(parsed(&["http://a/", "--from", "x"]), expected(None, &[]));
        assert_eq!(parsed(&["PUT", "http://a/", "--from", "x", "y"]), expected(Some("PUT"), &["y"]));
        assert_eq!(parsed(&["--from", "x", "http://a/", "y.yaml"]), expected(None, &["y.yaml"]));
    }
}
