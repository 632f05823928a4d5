//! The flow table of UDP: after any run of beginnings, answers and ends it holds what a table holds that is written
//! for being obviously right, and no more than its limit.
//!
//! The first byte of the input is the limit; each other one is what happens, and to which client.

use std::cell::Cell;
use std::rc::Rc;

use portcullis_proxy::{FlowTable, FlowsFull};

/// A flow of the table: nobody but the test knows when it began.
#[derive(Debug)]
struct Flow {
    number: usize,
    answered: Cell<bool>,
}

/// All flows that there are, the oldest first, with their clients.
#[derive(Default)]
struct Model {
    flows: Vec<(u8, Rc<Flow>)>,
}

impl Model {
    fn place(&self, client: u8) -> Option<usize> {
        self.flows.iter().position(|(of, _)| *of == client)
    }

    /// The flow that goes, if there is one, for another of a client.
    fn begin(&mut self, client: u8, limit: usize) -> Result<Option<usize>, FlowsFull> {
        let goes = match self.place(client) {
            None if self.flows.len() < limit => return Ok(None),
            None => self.flows.iter().position(|(_, flow)| !flow.answered.get()).ok_or(FlowsFull)?,
            Some(own) => own,
        };
        Ok(Some(self.flows.remove(goes).1.number))
    }
}

pub(crate) fn run(input: &[u8]) {
    let Some((limit, happens)) = input.split_first() else { return };
    let limit = usize::from(limit % 8);
    let (mut table, mut model) = (FlowTable::new(limit), Model::default());
    let mut begun: Vec<(u8, Rc<Flow>)> = Vec::new();
    for happening in happens {
        let client = happening >> 4;
        match happening & 3 {
            0 | 1 => {
                let make = || Rc::new(Flow { number: begun.len(), answered: Cell::new(false) });
                let ours = table.begin(client, make, |flow| flow.answered.get());
                let goes = ours.as_ref().map(|began| began.displaced.as_ref().map(|flow| flow.number));
                assert_eq!(goes.map_err(|full| *full), model.begin(client, limit));
                if let Ok(began) = ours {
                    model.flows.push((client, Rc::clone(&began.flow)));
                    begun.push((client, began.flow));
                }
            }
            2 => table.get(&client).into_iter().for_each(|flow| flow.answered.set(true)),
            // The client's last flow ends, or an earlier one that has long been displaced.
            _ => {
                let back = usize::from(happening >> 2 & 3);
                let Some((_, flow)) = begun.iter().rev().filter(|(of, _)| *of == client).nth(back) else {
                    continue;
                };
                let there = model.place(client).filter(|place| Rc::ptr_eq(&model.flows[*place].1, flow));
                assert_eq!(table.end(&client, |known| Rc::ptr_eq(known, flow)), there.is_some());
                there.map(|place| model.flows.remove(place));
            }
        }
        agree(&table, &model, limit);
    }
}

fn agree(table: &FlowTable<u8, Rc<Flow>>, model: &Model, limit: usize) {
    assert!(table.len() <= limit);
    assert_eq!(table.len(), model.flows.len());
    assert_eq!(table.iter().count(), table.len());
    for (client, flow) in &model.flows {
        assert!(table.get(client).is_some_and(|known| Rc::ptr_eq(known, flow)));
    }
}
