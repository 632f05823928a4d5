//! Keys and certificates of a cluster, made afresh for each.

use std::{
    fs::{self, File},
    io::Read,
    net::Ipv4Addr,
    path::Path,
};

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, KeyUsagePurpose};

use crate::{Error, network::Network};

/// The first address of the Services' range, which is the API server's Service.
const KUBERNETES_SERVICE: Ipv4Addr = Ipv4Addr::new(10, 96, 0, 1);

/// Writes `ca.crt`, `apiserver.crt`, `apiserver.key`, `service-accounts.key` and `service-accounts.pub`
/// into a folder.
pub(crate) fn write(folder: &Path, network: Network) -> Result<(), Error> {
    let mut authority = CertificateParams::default();
    authority.distinguished_name.push(DnType::CommonName, "portcullis test cluster");
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    authority.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    let authority_key = KeyPair::generate()?;
    save(folder, "ca.crt", &authority.self_signed(&authority_key)?.pem())?;

    let names = ["kubernetes", "kubernetes.default", "kubernetes.default.svc", "localhost"];
    let addresses = [network.address(), KUBERNETES_SERVICE, Ipv4Addr::LOCALHOST];
    let names = names.iter().map(ToString::to_string).chain(addresses.iter().map(ToString::to_string));
    let mut server = CertificateParams::new(names.collect::<Vec<_>>())?;
    server.distinguished_name.push(DnType::CommonName, "kube-apiserver");
    let server_key = KeyPair::generate()?;
    let issuer = Issuer::new(authority, authority_key);
    save(folder, "apiserver.crt", &server.signed_by(&server_key, &issuer)?.pem())?;
    save(folder, "apiserver.key", &server_key.serialize_pem())?;
    let accounts_key = KeyPair::generate()?;
    save(folder, "service-accounts.key", &accounts_key.serialize_pem())?;
    save(folder, "service-accounts.pub", &accounts_key.public_key_pem())
}

/// A secret of 128 random bits, in hexadecimal.
pub(crate) fn token() -> Result<String, Error> {
    let source = Path::new("/dev/urandom");
    let mut bytes = [0; 16];
    File::open(source).and_then(|mut file| file.read_exact(&mut bytes)).map_err(Error::file(source))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

fn save(folder: &Path, name: &str, text: &str) -> Result<(), Error> {
    let path = folder.join(name);
    fs::write(&path, text).map_err(Error::file(&path))
}
