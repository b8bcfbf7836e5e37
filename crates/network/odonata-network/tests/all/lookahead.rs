//! The lookahead between parts equals that of the fabric between their routers.

use crate::common::{Net, link, links, shape};
use odonata_engine::Time;
use odonata_network::lookahead::{LinkDelays, partition};

#[test]
fn parts_of_one_router_have_the_lookahead_of_the_fabric() {
    let mut credits_late = Net::round(shape(5, 3, 2, 2));
    // Over these links a packet arrives first, over those of `round` and `codes` a credit.
    credits_late.params.links = links([link(1, 2, 32, 1), link(1, 5, 32, 9), link(1, 20, 64, 30)]);
    for net in [Net::round(shape(5, 3, 2, 2)), Net::codes(), credits_late] {
        let fabric = net.fabric();
        let routers: Vec<u32> = (0..=fabric.processes().end).collect();
        let parts = partition(net.routing().topology(), &LinkDelays::from(&net.params), &routers).unwrap();
        for to in fabric.processes() {
            let senders = parts.senders(to as usize);
            for from in (fabric.processes()).filter(|&from| from != to) {
                let found = senders.iter().find(|&&(sender, _)| sender == from);
                assert_eq!(
                    found.map_or(Time::NEVER, |&(_, delay)| delay),
                    fabric.lookahead(from, to)
                );
            }
        }
    }
}
