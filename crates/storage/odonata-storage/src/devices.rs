//! The devices of all servers: the state of each model, in cells of its own size.
//!
//! A change under speculation saves a whole cell. Every model has its own store, so that a device with a small state does not pay
//! for one with a large state.

use odonata_device::{Access, Device, DeviceModel, HddState, NvmeState, RateState, Service, SsdState};
use odonata_engine::random::Purpose;
use odonata_engine::{Mode, Store, Stream, journalled};
use odonata_units::Time;

use crate::faults::FaultClock;
use crate::{DeviceParams, FaultMetrics, FaultPeriod, ServerParams};

/// The devices of a set of servers, numbered through from those of server 0.
#[derive(Debug)]
pub(crate) struct Devices {
    params: Vec<DeviceParams>,
    /// The server of each device.
    servers: Vec<u32>,
    /// The first device of each server, then the number of all devices.
    first: Vec<u32>,
    /// The index of each device in the store of its model.
    places: Vec<u32>,
    rate: Store<RateState>,
    ssd: Store<SsdState>,
    nvme: Store<NvmeState>,
    hdd: Store<HddState>,
    /// The random numbers of each hard disk; no other model draws any.
    random: Store<Stream>,
    /// The clock of each device; empty if no device has a fault.
    clocks: Vec<FaultClock>,
    faults: Store<FaultMetrics>,
}
journalled!(Devices {
    rate,
    ssd,
    nvme,
    hdd,
    random,
    faults
});

impl Devices {
    /// The devices of `servers`, in their initial state.
    pub(crate) fn new(servers: &[ServerParams]) -> Self {
        let mut counts = [0; 4];
        let mut random = Vec::new();
        let mut devices = Devices {
            params: Vec::new(),
            servers: Vec::new(),
            first: vec![0],
            places: Vec::new(),
            rate: Store::new(),
            ssd: Store::new(),
            nvme: Store::new(),
            hdd: Store::new(),
            random: Store::new(),
            clocks: Vec::new(),
            faults: Store::new(),
        };
        for (server, params) in (0..).zip(servers) {
            for (number, device) in (0..).zip(&params.devices) {
                let count = match device.model {
                    DeviceModel::Rate(_) => &mut counts[0],
                    DeviceModel::Ssd(_) => &mut counts[1],
                    DeviceModel::Nvme(_) => &mut counts[2],
                    DeviceModel::Hdd(_) => {
                        let (seed, server) = params.random;
                        random.push(Stream::new(seed, server << 8 | number, Purpose::Device));
                        &mut counts[3]
                    }
                };
                devices.places.push(*count);
                *count += 1;
                devices.params.push(device.clone());
                devices.servers.push(server);
            }
            devices.first.push(devices.params.len() as u32);
        }
        let [rate, ssd, nvme, hdd] = counts.map(|count| count as usize);
        devices.rate = Store::filled(rate, RateState::default());
        devices.ssd = Store::filled(ssd, SsdState::default());
        devices.nvme = Store::filled(nvme, NvmeState::default());
        devices.hdd = Store::filled(hdd, HddState::default());
        devices.random = Store::from_vec(random);
        devices
    }

    /// Number of all devices.
    pub(crate) fn len(&self) -> u32 {
        self.params.len() as u32
    }

    /// The server that has `device`.
    pub(crate) fn server_of(&self, device: u32) -> u32 {
        self.servers[device as usize]
    }

    /// The devices of `server`.
    pub(crate) fn of(&self, server: u32) -> std::ops::Range<u32> {
        self.first[server as usize]..self.first[server as usize + 1]
    }

    /// The parameters of `device`.
    pub(crate) fn params(&self, device: u32) -> &DeviceParams {
        &self.params[device as usize]
    }

    /// Accesses of `device` that paid for a seek; the model defines a seek.
    pub(crate) fn seeks(&self, device: u32) -> u64 {
        let place = self.places[device as usize];
        match self.params[device as usize].model {
            DeviceModel::Rate(_) => self.rate.get(place).seeks,
            DeviceModel::Hdd(_) => self.hdd.get(place).seeks,
            DeviceModel::Ssd(_) | DeviceModel::Nvme(_) => 0,
        }
    }

    /// The cost of a seek to an access of `device` with service time `service`, if the model has a fixed one.
    pub(crate) fn seek(&self, device: u32, service: Time) -> Time {
        match &self.params[device as usize].model {
            DeviceModel::Rate(model) => model.seek.min(service),
            DeviceModel::Ssd(_) | DeviceModel::Nvme(_) | DeviceModel::Hdd(_) => Time::ZERO,
        }
    }

    /// Adds faults: `of` returns those of a device of a server, both counted from 0.
    pub(crate) fn set_faults(&mut self, of: impl Fn(u32, u32) -> Vec<FaultPeriod>) {
        let clock = |device: u32| {
            let server = self.server_of(device);
            FaultClock::new(of(server, device - self.of(server).start))
        };
        let clocks: Vec<FaultClock> = (0..self.len()).map(clock).collect();
        if clocks.iter().any(|clock| !clock.is_sound()) {
            self.faults = Store::filled(clocks.len(), FaultMetrics::default());
            self.clocks = clocks;
        }
    }

    /// The clock of `device`, if it has faults.
    #[inline]
    pub(crate) fn clock(&self, device: u32) -> Option<&FaultClock> {
        self.clocks.get(device as usize).filter(|clock| !clock.is_sound())
    }

    /// The cost of faults at `device`.
    pub(crate) fn fault_metrics(&self, device: u32) -> FaultMetrics {
        match self.faults.is_empty() {
            true => FaultMetrics::default(),
            false => *self.faults.get(device),
        }
    }

    /// Hands `access` to `device`. Returns its start and end of service.
    #[inline]
    pub(crate) fn serve<M: Mode>(&mut self, device: u32, now: Time, access: Access) -> Service {
        match self.clocks.get(device as usize) {
            Some(clock) if !clock.is_sound() => self.serve_slowly::<M>(device, now, access),
            _ => self.serve_at::<M>(device, now, access),
        }
    }

    /// Writes the volatile cache of `device` to its medium. Returns the time when everything is on the medium.
    fn flush<M: Mode>(&mut self, device: u32, now: Time) -> Time {
        match self.clocks.get(device as usize) {
            Some(clock) if !clock.is_sound() => {
                let own = clock.device_time(now);
                let end = self.flush_at::<M>(device, own);
                match end > own {
                    true => self.clocks[device as usize].times_of(now, own, end).1,
                    false => now,
                }
            }
            _ => self.flush_at::<M>(device, now),
        }
    }

    /// Writes the volatile caches of all devices of `server` out. Returns the last time, and its device, if it is later than now.
    pub(crate) fn flush_all<M: Mode>(&mut self, server: u32, now: Time) -> Option<(Time, u32)> {
        let mut last = None;
        for device in self.of(server) {
            let end = self.flush::<M>(device, now);
            if end > last.map_or(now, |(at, _)| at) {
                last = Some((end, device));
            }
        }
        last
    }

    /// `flush` in the device's own time.
    fn flush_at<M: Mode>(&mut self, device: u32, now: Time) -> Time {
        let place = self.places[device as usize];
        let mut nothing = Stream::new(0, 0, Purpose::Device);
        match &self.params[device as usize].model {
            DeviceModel::Rate(model) => model.flush(self.rate.edit::<M>(place), now, &mut nothing),
            DeviceModel::Ssd(model) => model.flush(self.ssd.edit::<M>(place), now, &mut nothing),
            DeviceModel::Nvme(model) => model.flush(self.nvme.edit::<M>(place), now, &mut nothing),
            DeviceModel::Hdd(model) => {
                let random = self.random.edit::<M>(place);
                model.flush(self.hdd.edit::<M>(place), now, random)
            }
        }
    }

    /// `serve` for a device with faults.
    fn serve_slowly<M: Mode>(&mut self, device: u32, now: Time, access: Access) -> Service {
        let own = self.clocks[device as usize].device_time(now);
        let sound = self.serve_at::<M>(device, own, access);
        let (begin, finish) = self.clocks[device as usize].times_of(now, sound.begin, sound.finish);
        let delay = (finish - now).saturating_sub(sound.finish - own);
        if delay > Time::ZERO {
            let metrics = self.faults.edit::<M>(device);
            metrics.accesses += 1;
            metrics.delay_ps += u128::from(delay.0);
        }
        Service { begin, finish }
    }

    /// `serve` in the device's own time.
    fn serve_at<M: Mode>(&mut self, device: u32, now: Time, access: Access) -> Service {
        let place = self.places[device as usize];
        // For models that draw no random numbers.
        let mut nothing = Stream::new(0, 0, Purpose::Device);
        match &self.params[device as usize].model {
            DeviceModel::Rate(model) => model.serve(self.rate.edit::<M>(place), now, access, &mut nothing),
            DeviceModel::Ssd(model) => model.serve(self.ssd.edit::<M>(place), now, access, &mut nothing),
            DeviceModel::Nvme(model) => model.serve(self.nvme.edit::<M>(place), now, access, &mut nothing),
            DeviceModel::Hdd(model) => {
                let random = self.random.edit::<M>(place);
                model.serve(self.hdd.edit::<M>(place), now, access, random)
            }
        }
    }
}
