//! Errands inside a network namespace: a thread that goes in, opens a socket, and comes back with it.
//!
//! A socket belongs to the namespace it was made in, whoever holds it afterwards. So the host can call what listens
//! inside, and listen inside itself, without a route, an address or a packet filter.

use std::{
    io,
    net::{Ipv4Addr, SocketAddrV4, TcpListener, UdpSocket},
    os::{
        fd::{AsFd, OwnedFd},
        linux::net::SocketAddrExt,
        unix::net::{SocketAddr, UnixStream},
    },
    sync::{Arc, mpsc},
    thread,
};

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

/// The errand and the place it leads to.
type Errand = (Arc<OwnedFd>, Box<dyn FnOnce(io::Result<()>) + Send>);

/// Sends a thread of its own into network namespaces. Clones share the thread.
#[derive(Clone, Debug)]
pub struct Visitor {
    errands: mpsc::Sender<Errand>,
}

impl Visitor {
    /// Starts the thread. It ends with the last clone.
    pub fn start() -> io::Result<Self> {
        let (errands, due) = mpsc::channel::<Errand>();
        let home = std::fs::File::open("/proc/self/ns/net")?;
        thread::Builder::new().name("visitor".into()).spawn(move || {
            for (place, errand) in due {
                errand(enter(&*place));
                // A thread that cannot come home must not run the next errand somewhere else.
                if enter(&home).is_err() {
                    return;
                }
            }
        })?;
        Ok(Visitor { errands })
    }

    fn run<T: Send + 'static>(
        &self,
        place: Arc<OwnedFd>,
        errand: impl FnOnce() -> io::Result<T> + Send + 'static,
        done: impl FnOnce(io::Result<T>) + Send + 'static,
    ) {
        let errand: Box<dyn FnOnce(io::Result<()>) + Send> = Box::new(move |there| done(there.and_then(|()| errand())));
        // When the thread is gone the errand is dropped, and whoever waits for it hears that.
        let _ = self.errands.send((place, errand));
    }

    /// Calls an abstract unix socket inside.
    pub fn call(&self, place: Arc<OwnedFd>, name: Vec<u8>, done: impl FnOnce(io::Result<UnixStream>) + Send + 'static) {
        let errand = move || {
            let socket = UnixStream::connect_addr(&SocketAddr::from_abstract_name(name)?)?;
            socket.set_nonblocking(true)?;
            Ok(socket)
        };
        self.run(place, errand, done);
    }

    /// Listens on an address of the loopback inside.
    pub fn listen(
        &self,
        place: Arc<OwnedFd>,
        address: Ipv4Addr,
        port: u16,
        done: impl FnOnce(io::Result<TcpListener>) + Send + 'static,
    ) {
        let errand = move || {
            let listener = TcpListener::bind(SocketAddrV4::new(address, port))?;
            listener.set_nonblocking(true)?;
            Ok(listener)
        };
        self.run(place, errand, done);
    }

    /// Takes datagrams on a port of the loopback inside.
    pub fn take_datagrams(
        &self,
        place: Arc<OwnedFd>,
        port: u16,
        done: impl FnOnce(io::Result<UdpSocket>) + Send + 'static,
    ) {
        let errand = move || {
            let socket = UdpSocket::bind(SocketAddrV4::new(Ipv4Addr::LOCALHOST, port))?;
            socket.set_nonblocking(true)?;
            Ok(socket)
        };
        self.run(place, errand, done);
    }
}

fn enter(place: impl AsFd) -> io::Result<()> {
    Ok(move_into_link_name_space(place.as_fd(), Some(LinkNameSpaceType::Network))?)
}
