//! Names inside a sandbox that reaches outside: for programs that know no proxy.
//!
//! Without an interface there is no route out, so no real address would be of use. A name that the policy lets pass gets a loopback address of
//! its own, on which the host listens; a call to it is passed on to that name, through the same policy as the proxy.
//! What may not be reached is refused here already, and told to the log.

use std::{
    collections::HashMap,
    io,
    net::{IpAddr, Ipv4Addr, SocketAddr},
    sync::{Arc, atomic::Ordering},
};

use async_trait::async_trait;
use tokio::{
    io::copy_bidirectional,
    net::{TcpListener, UdpSocket},
    task::JoinSet,
};

use super::{
    Policy, Through, Traffic,
    proxy::{self, Reached, Unreached},
    rewrite::Exit,
};

/// Listens inside the sandbox.
#[async_trait]
pub trait Ear: Send + Sync {
    /// Takes datagrams on a port of the loopback.
    async fn datagrams(&self, port: u16) -> io::Result<UdpSocket>;
    /// Takes calls on an address of the loopback.
    async fn calls(&self, address: Ipv4Addr, port: u16) -> io::Result<TcpListener>;
}

/// What is said here has no headers.
const SHELL: u16 = 22;
/// The port on which names are asked for.
const PORT: u16 = 53;
/// How many names one sandbox may have open; each takes listeners on the host.
const MOST: u16 = 256;
/// How long an answer may be remembered inside, in seconds.
const REMEMBERED: u32 = 60;
/// The longest question that is understood; longer ones are nobody's name.
const LONGEST: usize = 512;

/// Answers until the task is ended. Without the port (somebody inside has it) names stay unanswered, as without network.
pub async fn answer(ear: impl Ear, policy: Arc<Policy>, traffic: Arc<Traffic>, hatch: Option<Through>) {
    // Whoever reaches nobody needs no names, until that is changed.
    policy.opens().await;
    let Ok(socket) = ear.datagrams(PORT).await else { return };
    let socket = Arc::new(socket);
    let mut known: HashMap<String, (Ipv4Addr, Vec<u16>)> = HashMap::new();
    let mut listening = JoinSet::new();
    let mut packet = [0; LONGEST];
    loop {
        let Ok((length, asker)) = socket.recv_from(&mut packet).await else { continue };
        let Some(question) = Question::read(&packet[..length]) else { continue };
        let ports = policy.ports(&question.name);
        let verdict = if ports.is_empty() {
            tracing::info!(sandbox = %policy.sandbox, host = question.name, "blocked on its way out: the name may not be asked for");
            metrics::counter!("carrel_egress_blocked_total").increment(1);
            if let Some(hatch) = &hatch {
                let why = format!("{} is not on the list of hosts that this sandbox may reach", question.name);
                hatch.turned_back(&question.name, None, &why);
            }
            Verdict::Refused
        } else if policy.has_interface() {
            while listening.try_join_next().is_some() {}
            let (socket, policy) = (Arc::clone(&socket), Arc::clone(&policy));
            listening.spawn(tell_real_address(question, asker, socket, policy, hatch.clone()));
            continue;
        } else if !known.contains_key(&question.name) && known.len() >= usize::from(MOST) {
            Verdict::Failed
        } else {
            let number = known.len() as u16 + 1;
            let fresh = (Ipv4Addr::new(127, 77, (number >> 8) as u8, number as u8), Vec::new());
            let (address, listened) = known.entry(question.name.clone()).or_insert(fresh);
            // The list may have grown since.
            for port in ports.into_iter().filter(|port| !listened.contains(port)).collect::<Vec<_>>() {
                // One that somebody inside has taken is left to it.
                if let Ok(listener) = ear.calls(*address, port).await {
                    listening.spawn(pass_on(
                        listener,
                        question.name.clone(),
                        port,
                        Arc::clone(&policy),
                        Arc::clone(&traffic),
                        hatch.clone(),
                    ));
                }
                listened.push(port);
            }
            Verdict::At(*address)
        };
        let _ = socket.send_to(&question.answer(verdict), asker).await;
    }
}

/// Answers with the address that a name really has, for whoever has a way there.
async fn tell_real_address(
    question: Question,
    asker: SocketAddr,
    socket: Arc<UdpSocket>,
    policy: Arc<Policy>,
    hatch: Option<Through>,
) {
    let found = tokio::net::lookup_host((question.name.as_str(), 0)).await;
    let own = proxy::own_addresses();
    let (mut verdict, mut refusal) = (Verdict::Failed, None);
    for address in found.into_iter().flatten().map(|address| address.ip()) {
        match policy.name(&question.name, 0).and_then(|named| named.address(address, &own)) {
            Err(refused) => refusal = Some(refused),
            Ok(()) => {
                refusal = None;
                if let IpAddr::V4(address) = address {
                    verdict = Verdict::At(address);
                    break;
                }
            }
        }
    }
    if let (Some(refused), Some(hatch)) = (refusal, hatch) {
        hatch.turned_back(&question.name, None, &refused.to_string());
    }
    let _ = socket.send_to(&question.answer(verdict), asker).await;
}

/// Passes every call to one port of one name on.
async fn pass_on(
    listener: TcpListener,
    name: String,
    port: u16,
    policy: Arc<Policy>,
    traffic: Arc<Traffic>,
    hatch: Option<Through>,
) {
    let mut calls = JoinSet::new();
    loop {
        let Ok((mut inside, _)) = listener.accept().await else { continue };
        while calls.try_join_next().is_some() {}
        let (name, policy, traffic) = (name.clone(), Arc::clone(&policy), Arc::clone(&traffic));
        if port != SHELL && policy.headers(&name).is_some() {
            let exit = Exit { host: name, port, policy, traffic, hatch: hatch.clone() };
            calls.spawn(exit.serve(inside));
            continue;
        }
        let hatch = hatch.clone();
        calls.spawn(async move {
            let reached = reach(&policy, &name, port, hatch.as_ref()).await;
            let Some(Reached { line: mut outside, address: peer }) = reached else { return };
            let copied = tokio::select! {
                copied = copy_bidirectional(&mut inside, &mut outside) => copied,
                () = policy.takes_back(&name, port, peer) => return,
            };
            if let Ok((sent, received)) = copied {
                traffic.sent.fetch_add(sent, Ordering::Relaxed);
                traffic.received.fetch_add(received, Ordering::Relaxed);
            }
        });
    }
}

async fn reach(policy: &Policy, name: &str, port: u16, hatch: Option<&Through>) -> Option<Reached> {
    match proxy::reach(policy, name, port).await {
        Ok(reached) => Some(reached),
        Err(unreached) => {
            if let (Unreached::Refused(refused), Some(hatch)) = (&unreached, hatch) {
                hatch.turned_back(name, Some(port), &refused.to_string());
            }
            tracing::info!(sandbox = %policy.sandbox, host = name, port, "a call out came to nothing: {unreached}");
            None
        }
    }
}

enum Verdict {
    At(Ipv4Addr),
    Refused,
    Failed,
}

/// One question, with the bytes it came in.
struct Question {
    id: [u8; 2],
    name: String,
    kind: u16,
    /// The question as it was asked, to be repeated in the answer.
    asked: Vec<u8>,
}

impl Question {
    /// A plain question for one name; anything else is not answered.
    fn read(packet: &[u8]) -> Option<Question> {
        let header = packet.get(..12)?;
        let is_query = header[2] & 0xf8 == 0;
        if !is_query || header[4..6] != [0, 1] {
            return None;
        }
        let (mut place, mut labels) = (12, Vec::new());
        loop {
            let length = usize::from(*packet.get(place)?);
            place += 1;
            match length {
                0 => break,
                1..=63 => {
                    labels.push(std::str::from_utf8(packet.get(place..place + length)?).ok()?.to_ascii_lowercase());
                    place += length;
                }
                _ => return None,
            }
        }
        let kind = u16::from_be_bytes(packet.get(place..place + 2)?.try_into().ok()?);
        let asked = packet.get(12..place + 4)?.to_vec();
        Some(Question { id: [header[0], header[1]], name: labels.join("."), kind, asked })
    }

    fn answer(&self, verdict: Verdict) -> Vec<u8> {
        const ADDRESS: u16 = 1;
        let (code, address) = match verdict {
            Verdict::At(address) => (0, Some(address).filter(|_| self.kind == ADDRESS)),
            Verdict::Failed => (2, None),
            Verdict::Refused => (5, None),
        };
        let mut packet = Vec::with_capacity(self.asked.len() + 28);
        packet.extend(self.id);
        // An answer, by somebody who recurses.
        packet.extend([0x81, 0x80 | code]);
        packet.extend([0, 1, 0, u8::from(address.is_some()), 0, 0, 0, 0]);
        packet.extend(&self.asked);
        if let Some(address) = address {
            // The name of the question, an address of the internet.
            packet.extend([0xc0, 12, 0, 1, 0, 1]);
            packet.extend(REMEMBERED.to_be_bytes());
            packet.extend([0, 4]);
            packet.extend(address.octets());
        }
        packet
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_question_is_answered_with_itself_and_an_address() {
        let packet =
            [&[0xab, 0xcd, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0][..], b"\x07example\x03ORG\x00\x00\x01\x00\x01"].concat();
        let question = Question::read(&packet).expect("a question");
        assert_eq!((question.name.as_str(), question.kind), ("example.org", 1));
        let answer = question.answer(Verdict::At(Ipv4Addr::new(127, 77, 0, 1)));
        assert_eq!(&answer[..8], [0xab, 0xcd, 0x81, 0x80, 0, 1, 0, 1]);
        assert!(answer.ends_with(&[0, 4, 127, 77, 0, 1]));
        assert_eq!(question.answer(Verdict::Refused)[3] & 0x0f, 5);
    }

    proptest! {
        #[test]
        fn no_packet_breaks_it(packet in prop::collection::vec(any::<u8>(), 0..600)) {
            if let Some(question) = Question::read(&packet) {
                prop_assert!(question.answer(Verdict::Failed).len() >= 12);
            }
        }
    }
}
