//! `portcullis echo`: a backend that answers with the request.

mod answer;
mod wish;

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use clap::Args;

use crate::exit::{Failure, Outcome};
use crate::logs::LogOptions;
use crate::{output, server, signals};

pub(crate) use answer::{EchoAnswers, StandsFor};

/// Answer HTTP requests with the request itself, as JSON
#[derive(Args, Debug)]
#[command(after_help = "The query of a request can ask for more: ?delay=2s waits before it answers, \
    ?status=503 answers with that status.")]
pub(crate) struct Echo {
    /// Where to listen
    #[arg(value_name = "ADDR", default_value_t = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 3000))]
    address: SocketAddr,
    #[command(flatten)]
    logs: LogOptions,
}

impl Echo {
    pub(crate) fn run(&self) -> Result<Outcome, Failure> {
        self.logs.start()?;
        signals::runtime()?.block_on(async {
            let listener = server::bind(self.address).await?;
            let address = listener.local_addr().unwrap_or(self.address);
            output::print(&format!("Answers at http://{address}/\n"))?;
            let mut signals = signals::Signals::listen()?;
            tokio::select! {
                () = server::serve(listener, EchoAnswers::default()) => {}
                () = signals.end() => {}
            }
            Ok(Outcome::Clean)
        })
    }
}
