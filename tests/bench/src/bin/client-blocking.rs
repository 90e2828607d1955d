//! The lower bound of all clients: precomputed requests on blocking sockets of the standard
//! library, one thread for each task.

use std::{
    hint::black_box,
    io::{Read, Write},
    net::TcpStream,
    process::ExitCode,
};

use marula_bench::floor::{Requests, address, cursor_id, reply_length, requests, with_cursor};
use marula_bench_shared::contract::{Arguments, Failure, Material, Worker, run_threads};

fn main() -> ExitCode {
    run_threads::<Blocking>()
}

struct Blocking {
    connection: Connection,
    requests: Requests,
}

impl Worker for Blocking {
    fn connect(arguments: &Arguments, material: &Material) -> Result<Self, Failure> {
        let stream = TcpStream::connect(address(&arguments.uri)?)?;
        stream.set_nodelay(true)?;
        Ok(Self {
            connection: Connection {
                stream,
                buffer: vec![0; 64 * 1024],
            },
            requests: requests(arguments.task, material),
        })
    }

    fn operation(&mut self) -> Result<(), Failure> {
        let Requests { first, more } = &self.requests;
        let mut next = None;
        for request in first {
            let reply = self.connection.exchange(request)?;
            next = more.as_ref().zip(cursor_id(reply));
        }
        while let Some((more, id)) = next {
            let reply = self.connection.exchange(&with_cursor(more, id))?;
            next = cursor_id(reply).map(|id| (more, id));
        }
        Ok(())
    }
}

struct Connection {
    stream: TcpStream,
    buffer: Vec<u8>,
}

impl Connection {
    /// Sends a request and reads the reply.
    fn exchange(&mut self, request: &[u8]) -> Result<&[u8], Failure> {
        self.stream.write_all(request)?;
        let filled = self.stream.read(&mut self.buffer)?;
        let length = reply_length(&self.buffer[..filled]).ok_or("the reply is truncated")?;
        if self.buffer.len() < length {
            self.buffer.resize(length, 0);
        }
        self.stream
            .read_exact(&mut self.buffer[filled.min(length)..length])?;
        Ok(black_box(&self.buffer[..length]))
    }
}
