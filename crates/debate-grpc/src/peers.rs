//! How many connections each address may have at one time, so that no stranger takes all of them.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, PoisonError};

/// Bits of an IPv6 address that are given out to one customer; the rest it chooses by itself.
const IPV6_BITS: u32 = 64;

/// Connections by address.
#[derive(Debug, Clone)]
pub(crate) struct Peers {
    max: usize,
    open: Arc<Mutex<HashMap<IpAddr, usize>>>,
}

/// One connection of an address, until it is dropped.
#[derive(Debug)]
pub(crate) struct Peer {
    address: IpAddr,
    peers: Peers,
}

impl Peers {
    /// Allows each address so many connections.
    pub(crate) fn new(max: usize) -> Self {
        Self { max, open: Arc::default() }
    }

    /// Takes a place for a connection; `None` where its address has as many as it may.
    pub(crate) fn enter(&self, address: IpAddr) -> Option<Peer> {
        let address = neighbourhood(address);
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let count = open.entry(address).or_default();
        if *count >= self.max {
            return None;
        }
        *count += 1;
        Some(Peer { address, peers: self.clone() })
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        let mut open = self.peers.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = open.get_mut(&self.address) {
            *count -= 1;
            if *count == 0 {
                open.remove(&self.address);
            }
        }
    }
}

/// Returns what stands for all addresses that one client can choose from.
fn neighbourhood(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => {
            let network = address.to_bits() >> (Ipv6Addr::BITS - IPV6_BITS) << (Ipv6Addr::BITS - IPV6_BITS);
            IpAddr::V6(Ipv6Addr::from_bits(network))
        }
        address @ IpAddr::V4(_) => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_address_has_its_own_places_and_gets_them_back() {
        let peers = Peers::new(2);
        let enter = |address: &str| peers.enter(address.parse().unwrap());
        let held = [enter("10.0.0.1"), enter("::ffff:10.0.0.1")];
        assert!(held.iter().all(Option::is_some));
        assert!(enter("10.0.0.1").is_none(), "an address is the same in IPv6");
        let others = [enter("10.0.0.2"), enter("2001:db8::1"), enter("2001:db8::2")];
        assert!(others.iter().all(Option::is_some));
        for chosen in ["2001:db8::3", "2001:db8:0:0:8000::3"] {
            assert!(enter(chosen).is_none(), "a client chooses among the addresses of its network");
        }
        assert!(enter("2001:db8:0:1::3").is_some());
        drop(held);
        assert!(enter("10.0.0.1").is_some());
        drop(others);
        assert!(peers.open.lock().unwrap().is_empty(), "nothing is kept of those who are gone");
    }
}
