//! Reading real files, once and again.

#[cfg(test)]
mod equal;
#[cfg(test)]
mod folder;
#[cfg(test)]
mod hostile;
#[cfg(test)]
mod load;
#[cfg(test)]
mod watch;
