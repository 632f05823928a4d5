//! Tests of resolution from objects to model and statuses.

#[cfg(test)]
mod agreement;
#[cfg(test)]
mod case;
#[cfg(test)]
mod cases;
mod cluster;
#[cfg(test)]
mod cost;
#[cfg(test)]
mod examples;
#[cfg(test)]
mod expect;
#[cfg(test)]
mod given;
#[cfg(test)]
mod incremental;
#[cfg(test)]
mod invariants;
#[cfg(test)]
mod reached;
#[cfg(test)]
mod served;
#[cfg(test)]
mod universe;
