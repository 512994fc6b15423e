//! Places for debates that are driven or wait here. Who comes at one moment is counted one after the other.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::engine::Engine;

/// How many debates of each tenant are about to be driven, and how many whose tenant is not known yet: their places are
/// reserved already.
#[derive(Debug, Clone, Default)]
pub(super) struct Reservation(Arc<Mutex<HashMap<Option<String>, usize>>>);

/// A place for a debate that is about to be held. It is the debate's once that is held, and else given back.
#[derive(Debug)]
#[must_use = "the place is given back with it"]
pub(crate) struct Room {
    coming: Reservation,
    tenant: Option<String>,
}

impl Reservation {
    fn by_tenant(&self) -> MutexGuard<'_, HashMap<Option<String>, usize>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        let mut coming = self.coming.by_tenant();
        if let Some(places) = coming.get_mut(&self.tenant) {
            *places -= 1;
            if *places == 0 {
                coming.remove(&self.tenant);
            }
        }
    }
}

impl Engine {
    /// Finds a place for one more debate of a tenant.
    ///
    /// # Errors
    /// All places are taken, and the tenant has its share of them; how many are taken.
    pub(crate) fn room_for(&self, tenant: &str) -> Result<Room, usize> {
        let held = self.held();
        let mut coming = self.coming.by_tenant();
        let all = held.len() + coming.values().sum::<usize>();
        let max = self.shared().settings.debates_held_max;
        if all >= max {
            let mut tenants: HashMap<&str, usize> = HashMap::from([(tenant, 0)]);
            let places = held.values().map(|held| (&*held.tenant, 1));
            // Debates whose tenant is not known yet may be this tenant's.
            let coming = coming.iter().map(|(of, places)| (of.as_deref().unwrap_or(tenant), *places));
            for (tenant, places) in places.chain(coming) {
                *tenants.entry(tenant).or_default() += places;
            }
            if tenants[tenant] >= max / tenants.len() || all >= 2 * max {
                return Err(all);
            }
        }
        let tenant = Some(tenant.to_owned());
        *coming.entry(tenant.clone()).or_default() += 1;
        Ok(Room { coming: self.coming.clone(), tenant })
    }

    /// Takes the places that are free, but at most `max`, for debates whose tenant is not known yet.
    pub(super) fn free_slots(&self, max: usize) -> Vec<Room> {
        let held = self.held();
        let mut coming = self.coming.by_tenant();
        let all = held.len() + coming.values().sum::<usize>();
        let left = self.shared().settings.debates_held_max.saturating_sub(all).min(max);
        if left > 0 {
            *coming.entry(None).or_default() += left;
        }
        (0..left).map(|_| Room { coming: self.coming.clone(), tenant: None }).collect()
    }
}
