//! The forms of an address, and how they become socket addresses.
//!
//! The standard library's trait of the same name blocks while it looks up a name. This trait keeps
//! addresses, which are ready at once, apart from names, which have to be looked up.

use std::borrow::Cow;
use std::fmt;
use std::future::Future;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};

use super::error::could_not;
use super::lookup::lookup;
use crate::operation;

/// An address, or several in a slice: `"localhost:80"`, `("localhost", 80)`, `"127.0.0.1:80"`,
/// `(Ipv4Addr::LOCALHOST, 80)` or a [`SocketAddr`].
///
/// Only names are looked up. That happens on one of the runtime's threads for blocking calls or,
/// without a runtime, on a new thread.
///
/// This trait is sealed. It is implemented for the types that implement the standard library's
/// trait of the same name.
pub trait ToSocketAddrs: sealed::Given {}

pub(super) mod sealed {
    use super::{Address, io};

    /// Returns the address as the caller wrote it, without looking it up.
    pub trait Given {
        /// # Errors
        ///
        /// The value is neither an address nor a name with a port.
        fn given(&self) -> io::Result<Address<'_>>;
    }
}

/// An address as the caller wrote it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address<'a> {
    /// One socket address, ready to use.
    Known(SocketAddr),
    /// Several socket addresses, ready to use.
    Several(Cow<'a, [SocketAddr]>),
    /// A name to look up, and a port.
    Name(&'a str, u16),
}

impl fmt::Display for Address<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Known(address) => address.fmt(f),
            Self::Several(addresses) => f.debug_list().entries(addresses.iter()).finish(),
            Self::Name(name, port) => write!(f, "{name}:{port}"),
        }
    }
}

/// Returns the socket addresses that an address stands for: one, or all of a name.
///
/// ```
/// # heist_runtime::block_on(async {
/// let addresses = heist_runtime::net::resolve("127.0.0.1:80").await?;
/// assert_eq!(addresses, [std::net::SocketAddr::from(([127, 0, 0, 1], 80))]);
/// # std::io::Result::Ok(())
/// # }).unwrap();
/// ```
///
/// # Errors
///
/// The text is not an address, or the name cannot be looked up.
pub async fn resolve(address: impl ToSocketAddrs) -> io::Result<Vec<SocketAddr>> {
    operation::counted(addresses_of(address)).await
}

/// Does the same as [`resolve`], for callers that count the operation themselves.
async fn addresses_of(address: impl ToSocketAddrs) -> io::Result<Vec<SocketAddr>> {
    match address.given()? {
        Address::Known(address) => Ok(vec![address]),
        Address::Several(addresses) => Ok(addresses.into_owned()),
        Address::Name(name, port) => lookup(name, port)
            .await
            .map_err(|error| could_not("look up", format_args!("{name}:{port}"), error)),
    }
}

/// Tries the socket addresses of an address one after the other until an attempt succeeds. If all
/// fail, returns the error of the last attempt.
///
/// `action` says in the error what was attempted.
pub(super) async fn first_that<T, F: Future<Output = io::Result<T>>>(
    action: &str,
    address: impl ToSocketAddrs,
    // Not an `AsyncFnMut`: the compiler could not prove that its future is `Send` for every
    // lifetime.
    mut attempt: impl FnMut(SocketAddr) -> F,
) -> io::Result<T> {
    let given = address.given()?;
    if let Address::Known(address) = given {
        return attempt(address).await.map_err(|error| could_not(action, address, error));
    }
    let mut last_error = None;
    for address in addresses_of(&address).await? {
        match attempt(address).await {
            Ok(done) => return Ok(done),
            Err(error) => last_error = Some((address, error)),
        }
    }
    Err(match (last_error, &given) {
        (Some((address, error)), Address::Name(..)) => {
            could_not(action, format_args!("{given} ({address})"), error)
        }
        (Some((address, error)), _) => could_not(action, address, error),
        (None, _) => {
            let none = io::Error::new(io::ErrorKind::InvalidInput, "no address to try");
            could_not(action, given, none)
        }
    })
}

/// Splits `name:port`.
fn parse(text: &str) -> io::Result<Address<'_>> {
    if let Ok(address) = text.parse() {
        return Ok(Address::Known(address));
    }
    let invalid = |problem: &str| {
        let problem = format!("`{text}` is not an address: {problem}");
        io::Error::new(io::ErrorKind::InvalidInput, problem)
    };
    let (name, port) = text.rsplit_once(':').ok_or_else(|| invalid("it has no `:port`"))?;
    let port = port.parse().map_err(|_| invalid("its port is not a number up to 65535"))?;
    if name.is_empty() {
        return Err(invalid("it has no host before the port"));
    }
    Ok(Address::Name(name, port))
}

fn parse_host(name: &str, port: u16) -> Address<'_> {
    match name.parse::<IpAddr>() {
        Ok(address) => Address::Known((address, port).into()),
        Err(_) => Address::Name(name, port),
    }
}

macro_rules! given {
    ($($type:ty: |$this:ident| $given:expr;)*) => {$(
        impl sealed::Given for $type {
            fn given(&self) -> io::Result<Address<'_>> {
                let $this = self;
                $given
            }
        }
        impl ToSocketAddrs for $type {}
    )*};
}

given! {
    SocketAddr: |this| Ok(Address::Known(*this));
    SocketAddrV4: |this| Ok(Address::Known((*this).into()));
    SocketAddrV6: |this| Ok(Address::Known((*this).into()));
    (IpAddr, u16): |this| Ok(Address::Known((*this).into()));
    (Ipv4Addr, u16): |this| Ok(Address::Known((*this).into()));
    (Ipv6Addr, u16): |this| Ok(Address::Known((*this).into()));
    [SocketAddr]: |this| Ok(Address::Several(Cow::Borrowed(this)));
    Vec<SocketAddr>: |this| Ok(Address::Several(Cow::Borrowed(this)));
    str: |this| parse(this);
    String: |this| parse(this);
    (&str, u16): |this| Ok(parse_host(this.0, this.1));
    (String, u16): |this| Ok(parse_host(&this.0, this.1));
}

impl<const N: usize> sealed::Given for [SocketAddr; N] {
    fn given(&self) -> io::Result<Address<'_>> {
        Ok(Address::Several(Cow::Borrowed(self)))
    }
}
impl<const N: usize> ToSocketAddrs for [SocketAddr; N] {}

impl<A: ToSocketAddrs + ?Sized> sealed::Given for &A {
    fn given(&self) -> io::Result<Address<'_>> {
        (**self).given()
    }
}
impl<A: ToSocketAddrs + ?Sized> ToSocketAddrs for &A {}

#[cfg(test)]
mod tests {
    use super::*;
    use async_io::block_on;
    use std::future::ready;

    const HOME: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 80);
    const HOME_6: SocketAddr = SocketAddr::new(IpAddr::V6(Ipv6Addr::LOCALHOST), 80);

    #[track_caller]
    fn check_given(address: impl ToSocketAddrs, expected: &Address<'_>) {
        assert_eq!(address.given().expect("an address"), *expected);
    }

    #[test]
    fn every_form_of_an_address_is_used_without_a_lookup() {
        let SocketAddr::V4(v4) = HOME else { unreachable!("wrong address family") };
        let SocketAddr::V6(v6) = HOME_6 else { unreachable!("wrong address family") };
        check_given(HOME, &Address::Known(HOME));
        check_given(v4, &Address::Known(HOME));
        check_given(v6, &Address::Known(HOME_6));
        check_given((HOME.ip(), 80), &Address::Known(HOME));
        check_given((Ipv4Addr::LOCALHOST, 80), &Address::Known(HOME));
        check_given((Ipv6Addr::LOCALHOST, 80), &Address::Known(HOME_6));
        check_given("127.0.0.1:80", &Address::Known(HOME));
        check_given("[::1]:80".to_owned(), &Address::Known(HOME_6));
        check_given(("127.0.0.1", 80), &Address::Known(HOME));
        check_given(("::1".to_owned(), 80), &Address::Known(HOME_6));
        let both = [HOME, HOME_6];
        check_given(both, &Address::Several(both[..].into()));
        check_given(&both[..], &Address::Several(both[..].into()));
        check_given(both.to_vec(), &Address::Several(both[..].into()));
    }

    #[test]
    fn text_that_is_not_an_address_is_a_name() {
        check_given("localhost:80", &Address::Name("localhost", 80));
        check_given(("localhost", 80), &Address::Name("localhost", 80));
        check_given((String::from("localhost"), 80), &Address::Name("localhost", 80));
        check_given("[::1:80", &Address::Name("[::1", 80));
    }

    #[test]
    fn an_error_says_why_text_is_not_an_address() {
        for (text, why) in [
            ("localhost", "it has no `:port`"),
            ("localhost:http", "its port is not a number up to 65535"),
            ("localhost:65536", "its port is not a number up to 65535"),
            (":80", "it has no host before the port"),
            ("", "it has no `:port`"),
        ] {
            let error = block_on(resolve(text)).expect_err(text);
            assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
            assert_eq!(error.to_string(), format!("`{text}` is not an address: {why}"));
        }
    }

    #[test]
    fn a_name_is_looked_up() {
        let addresses = block_on(resolve("localhost:80")).expect("every machine knows localhost");
        assert!(!addresses.is_empty());
        assert!(addresses.iter().all(|address| address.ip().is_loopback() && address.port() == 80));
    }

    #[test]
    fn an_error_names_the_unknown_name() {
        // `.invalid` is reserved, so this name never exists.
        let error = block_on(resolve("missing.invalid:80")).expect_err("the name does not exist");
        assert!(error.to_string().starts_with("could not look up missing.invalid:80: "), "{error}");
    }

    #[test]
    fn addresses_are_tried_in_order_and_the_last_error_is_returned() {
        block_on(async {
            let fail_except_for = |port| {
                move |address: SocketAddr| {
                    let error = io::ErrorKind::AddrNotAvailable;
                    ready(if address.port() == port { Ok(address) } else { Err(error.into()) })
                }
            };
            let two = [SocketAddr::new(HOME.ip(), 1), SocketAddr::new(HOME.ip(), 2)];
            assert_eq!(
                first_that("use", two, fail_except_for(2)).await.expect("the second"),
                two[1]
            );
            let error = first_that("use", two, fail_except_for(3)).await.expect_err("none");
            assert_eq!(error.kind(), io::ErrorKind::AddrNotAvailable);
            assert!(error.to_string().starts_with("could not use 127.0.0.1:2: "), "{error}");
            let error = first_that("use", ("localhost", 1), fail_except_for(3)).await;
            let error = error.expect_err("none").to_string();
            assert!(error.starts_with("could not use localhost:1 ("), "{error}");
            let error = first_that("use", Vec::new(), fail_except_for(3)).await.expect_err("none");
            assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
            assert_eq!(error.to_string(), "could not use []: no address to try");
        });
    }
}
