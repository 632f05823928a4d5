//! What an exchange works with, kept by the worker between exchanges so that it allocates nothing.

use std::cell::RefCell;
use std::rc::Rc;

use portcullis_http1::{BodyDecoder, HeadLimits, RequestHead, ResponseHead, ResponseParser};

use crate::budget::Budget;
use crate::buffers::{Buffers, InBuf};
use crate::exchange::Outgoing;
use crate::filters::{CorsAnswer, HeaderChange};
use crate::limits::Limits;

/// How many a worker keeps.
const KEPT: usize = 256;

/// What an exchange works with.
pub(crate) struct Scratch {
    pub(crate) request: RequestHead,
    pub(crate) outgoing: Outgoing,
    pub(crate) parser: ResponseParser,
    pub(crate) response: ResponseHead,
    pub(crate) decoder: BodyDecoder,
    pub(crate) input: InBuf,
    pub(crate) cors: CorsAnswer,
    /// What services that let the request pass make of the answer.
    pub(crate) granted: Vec<HeaderChange>,
}

impl Scratch {
    /// Changes an answer that goes to the client as was decided before there was one.
    pub(crate) fn settle_answer(&mut self) {
        let fields = &mut self.response.fields;
        self.cors.apply(fields);
        self.granted.iter().for_each(|change| change.apply(fields));
    }
}

/// The free ones of a worker.
pub(crate) struct Scratches {
    #[expect(clippy::vec_box, reason = "connections hold one only while they have a request")]
    free: RefCell<Vec<Box<Scratch>>>,
    buffers: Rc<Buffers>,
    copies: Rc<Budget>,
    response_head: HeadLimits,
    limits: Limits,
}

impl Scratches {
    pub(crate) fn new(buffers: &Rc<Buffers>, copies: &Rc<Budget>, limits: &Limits) -> Scratches {
        let response_head = HeadLimits { block: limits.upstream_head_bytes.0, fields: limits.head_fields };
        let (buffers, copies, limits) = (Rc::clone(buffers), Rc::clone(copies), limits.clone());
        Scratches { free: RefCell::default(), buffers, copies, response_head, limits }
    }

    pub(crate) fn take(&self) -> Box<Scratch> {
        let free = self.free.borrow_mut().pop();
        free.unwrap_or_else(|| {
            Box::new(Scratch {
                request: RequestHead::new(),
                outgoing: Outgoing::new(&self.buffers, &self.copies, &self.limits),
                parser: ResponseParser::new(self.response_head),
                response: ResponseHead::new(),
                decoder: BodyDecoder::default(),
                input: InBuf::new(&self.buffers),
                cors: CorsAnswer::default(),
                granted: Vec::new(),
            })
        })
    }

    /// Keeps one whose exchange ended in step; others are simply dropped.
    pub(crate) fn give_back(&self, mut scratch: Box<Scratch>) {
        let mut free = self.free.borrow_mut();
        if free.len() < KEPT {
            scratch.outgoing.reset();
            scratch.input.clear();
            scratch.cors.clear();
            scratch.granted.clear();
            free.push(scratch);
        }
    }
}
