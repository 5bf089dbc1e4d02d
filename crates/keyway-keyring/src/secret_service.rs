//! The Secret Service as a keyring: find, make and delete the one item that is ours.

use std::time::{Duration, Instant};

use keyway_secret::Secret;
use keyway_vault::{KEYRING_TIME_LIMIT, Keyring, KeyringAbsence, KeyringFailure, KeyringItem};

use crate::address::BusAddress;
use crate::bus::{Bus, BusError};
use crate::malformed::Malformed;
use crate::message::{Call, Message};
use crate::names::{COLLECTION, DESTINATION, ITEM, PROPERTIES, SERVICE, SERVICE_PATH};
use crate::prompt::{Asking, NOTHING};
use crate::wire::Writer;

/// The Secret Service on a session bus; each task opens a connection of its own.
///
/// ```
/// use keyway_keyring::{BusAddress, SecretService};
///
/// let addresses = BusAddress::parse("unix:path=/run/user/1000/bus", None);
/// let keyring = SecretService::new(addresses);
/// ```
#[derive(Clone, Debug)]
pub struct SecretService {
    addresses: Vec<BusAddress>,
    asking: Asking,
}

impl SecretService {
    /// Uses the first of these buses that listens; what is locked stays locked.
    #[must_use]
    pub const fn new(addresses: Vec<BusAddress>) -> Self {
        Self {
            addresses,
            asking: Asking::Never,
        }
    }

    /// Lets the service ask the person to unlock it, and waits for so long.
    ///
    /// Only where a person sits at the screen and knows what they asked for.
    #[must_use]
    pub const fn asking(mut self, up_to: Duration) -> Self {
        self.asking = Asking::UpTo(up_to);
        self
    }

    fn connect(&self) -> Result<Service, KeyringFailure> {
        let bus = Bus::connect(&self.addresses, Instant::now() + KEYRING_TIME_LIMIT)?;
        let mut service = Service {
            bus,
            asking: self.asking,
            session: String::new(),
        };
        let mut body = Writer::default();
        body.text("plain");
        body.signature("s");
        body.text("");
        let opened = service.call(SERVICE_PATH, SERVICE, "OpenSession", ("sv", body))?;
        service.session = read(opened.session())?.to_owned();
        Ok(service)
    }
}

impl Keyring for SecretService {
    fn load(&self, item: &KeyringItem) -> Result<Option<Secret<Vec<u8>>>, KeyringFailure> {
        let mut service = self.connect()?;
        let Some(found) = service.find(item)? else {
            return Ok(None);
        };
        let mut body = Writer::default();
        body.text(&service.session);
        let answer = service.call(&found, ITEM, "GetSecret", ("o", body))?;
        read(answer.secret()).map(Some)
    }

    fn store(&self, item: &KeyringItem, secret: &Secret<Vec<u8>>) -> Result<(), KeyringFailure> {
        let mut service = self.connect()?;
        let collection = service.default_collection()?;
        service.unlock_collection(&collection)?;
        let mut body = Writer::default();
        body.array(8, |properties| {
            properties.align(8);
            properties.text("org.freedesktop.Secret.Item.Label");
            properties.signature("s");
            properties.text(LABEL);
            properties.align(8);
            properties.text("org.freedesktop.Secret.Item.Attributes");
            properties.signature("a{ss}");
            properties.text_map(&attributes(item));
        });
        body.align(8);
        body.text(&service.session);
        body.bytes(b"");
        body.bytes(secret.expose());
        body.text("application/octet-stream");
        // Nothing is replaced: the key's name is part of the attributes.
        body.boolean(false);
        let signature = "a{sv}(oayays)b";
        let made = service.call(&collection, COLLECTION, "CreateItem", (signature, body))?;
        let (_, prompt) = read(made.object_and_prompt())?;
        service.asking.settle(&mut service.bus, prompt)
    }

    fn remove(&self, item: &KeyringItem) -> Result<(), KeyringFailure> {
        let mut service = self.connect()?;
        let Some(found) = service.find(item)? else {
            return Ok(());
        };
        let gone = service.call(&found, ITEM, "Delete", ("", Writer::default()))?;
        service
            .asking
            .settle(&mut service.bus, read(gone.object())?)
    }

    fn patience(&self) -> Duration {
        match self.asking {
            Asking::Never => KEYRING_TIME_LIMIT,
            Asking::UpTo(time) => KEYRING_TIME_LIMIT.saturating_add(time),
        }
    }
}

/// A session with the service.
struct Service {
    bus: Bus,
    asking: Asking,
    session: String,
}

impl Service {
    /// Finds the item, unlocked; `None` if the keyring is open and does not hold it.
    fn find(&mut self, item: &KeyringItem) -> Result<Option<String>, KeyringFailure> {
        let (unlocked, locked) = self.search(item)?;
        if unlocked.is_some() {
            return Ok(unlocked);
        }
        if let Some(locked) = locked {
            self.unlock(&locked)?;
            return Ok(Some(locked));
        }
        // Some services show nothing of what is locked.
        let collection = self.default_collection()?;
        if !self.unlock_collection(&collection)? {
            return Ok(None);
        }
        Ok(self.search(item)?.0)
    }

    fn search(
        &mut self,
        item: &KeyringItem,
    ) -> Result<(Option<String>, Option<String>), KeyringFailure> {
        let mut body = Writer::default();
        body.text_map(&attributes(item));
        let found = self.call(SERVICE_PATH, SERVICE, "SearchItems", ("a{ss}", body))?;
        let (unlocked, locked) = read(found.found())?;
        let first = |paths: Vec<&str>| paths.first().map(|path| (*path).to_owned());
        Ok((first(unlocked), first(locked)))
    }

    fn default_collection(&mut self) -> Result<String, KeyringFailure> {
        let mut body = Writer::default();
        body.text("default");
        let answer = self.call(SERVICE_PATH, SERVICE, "ReadAlias", ("s", body))?;
        match read(answer.object())? {
            // To make one is the person's decision.
            NOTHING => Err(KeyringFailure::Absent(KeyringAbsence::Collection)),
            path => Ok(path.to_owned()),
        }
    }

    /// Opens a collection; tells whether it was locked.
    fn unlock_collection(&mut self, collection: &str) -> Result<bool, KeyringFailure> {
        let mut body = Writer::default();
        body.text(COLLECTION);
        body.text("Locked");
        let answer = self.call(collection, PROPERTIES, "Get", ("ss", body))?;
        let is_locked = read(answer.flag())?;
        if is_locked {
            self.unlock(collection)?;
        }
        Ok(is_locked)
    }

    fn unlock(&mut self, object: &str) -> Result<(), KeyringFailure> {
        let mut body = Writer::default();
        body.array(4, |array| array.text(object));
        let answer = self.call(SERVICE_PATH, SERVICE, "Unlock", ("ao", body))?;
        let (unlocked, prompt) = read(answer.objects_and_prompt())?;
        if prompt == NOTHING && unlocked.is_empty() {
            return Err(KeyringFailure::Locked);
        }
        self.asking.settle(&mut self.bus, prompt)
    }

    fn call(
        &mut self,
        path: &str,
        interface: &str,
        member: &str,
        (signature, body): (&str, Writer),
    ) -> Result<Message, KeyringFailure> {
        let call = Call {
            destination: DESTINATION,
            path,
            interface,
            member,
            signature,
            body,
        };
        Ok(self.bus.call(call)?)
    }
}

fn read<T>(values: Result<T, Malformed>) -> Result<T, KeyringFailure> {
    Ok(values.map_err(BusError::from)?)
}

fn attributes(item: &KeyringItem) -> [(&str, &str); 3] {
    [
        ("xdg:schema", "keyway.vault"),
        ("vault", &item.vault),
        ("key", &item.key),
    ]
}

/// What a person reads in the keyring's own window.
const LABEL: &str = "Keyway: key of the vault";
