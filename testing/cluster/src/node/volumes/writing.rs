//! Writing a volume so that a reader sees the old files or the new ones, never a mixture.
//!
//! As a kubelet does: the files stand in a folder of their own, `..data` is a link to it that is
//! swapped in one step, and each name of the volume is a link through `..data`.

use std::{
    collections::BTreeSet,
    fs, io,
    os::unix::fs::{PermissionsExt, symlink},
    path::{Component, Path, PathBuf},
};

use super::content::Files;

/// Writes the files as the `generation`th state of the volume and removes the state before.
pub(crate) fn write(volume: &Path, generation: u64, files: &Files) -> io::Result<()> {
    fs::create_dir_all(volume)?;
    let state = PathBuf::from(format!("..{generation}"));
    let folder = volume.join(&state);
    fs::create_dir(&folder)?;
    for (path, file) in files {
        if !path.components().all(|part| matches!(part, Component::Normal(_))) {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, format!("path {}", path.display())));
        }
        let path = folder.join(path);
        fs::create_dir_all(path.parent().unwrap_or(&folder))?;
        fs::write(&path, &file.data)?;
        fs::set_permissions(&path, fs::Permissions::from_mode(file.mode))?;
    }
    let data = volume.join("..data");
    let before = fs::read_link(&data).ok();
    let swap = volume.join("..data_tmp");
    symlink(&state, &swap)?;
    fs::rename(&swap, &data)?;
    link_names(volume, files)?;
    if let Some(before) = before {
        fs::remove_dir_all(volume.join(before))?;
    }
    Ok(())
}

/// Links each first name through `..data`, and removes the links of names that are gone.
fn link_names(volume: &Path, files: &Files) -> io::Result<()> {
    let names: BTreeSet<&Path> = files
        .keys()
        .filter_map(|path| path.components().next())
        .map(|part| Path::new(part.as_os_str()))
        .collect();
    for name in &names {
        let link = volume.join(name);
        if fs::symlink_metadata(&link).is_err() {
            symlink(Path::new("..data").join(name), link)?;
        }
    }
    for entry in fs::read_dir(volume)? {
        let name = entry?.file_name();
        if !name.as_encoded_bytes().starts_with(b"..") && !names.contains(Path::new(&name)) {
            fs::remove_file(volume.join(name))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{super::content::File, *};

    fn files(pairs: &[(&str, &str)]) -> Files {
        let file = |text: &str| File { data: text.as_bytes().to_vec(), mode: 0o640 };
        pairs.iter().map(|(path, text)| (PathBuf::from(path), file(text))).collect()
    }

    #[test]
    fn a_new_state_takes_the_place_of_the_old_one() {
        let folder = tempfile::tempdir().unwrap();
        let volume = folder.path().join("v");
        write(&volume, 1, &files(&[("a", "1"), ("sub/b", "2"), ("sub/c", "3")])).unwrap();
        assert_eq!(fs::read_to_string(volume.join("a")).unwrap(), "1");
        assert_eq!(fs::read_to_string(volume.join("sub/c")).unwrap(), "3");
        assert_eq!(fs::metadata(volume.join("a")).unwrap().permissions().mode() & 0o777, 0o640);

        write(&volume, 2, &files(&[("sub/b", "4"), ("d", "5")])).unwrap();
        assert_eq!(fs::read_to_string(volume.join("sub/b")).unwrap(), "4");
        assert_eq!(fs::read_to_string(volume.join("d")).unwrap(), "5");
        let names = fs::read_dir(&volume).unwrap().map(|entry| entry.unwrap().file_name());
        let names: BTreeSet<String> = names.map(|name| name.into_string().unwrap()).collect();
        assert_eq!(names, ["..2", "..data", "d", "sub"].map(str::to_owned).into());
    }

    #[test]
    fn a_path_that_leads_out_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        for path in ["../x", "/etc/x", "a/../../x"] {
            let refused = write(&folder.path().join("v"), 1, &files(&[(path, "")]));
            assert!(refused.is_err(), "{path}");
            fs::remove_dir_all(folder.path().join("v")).unwrap();
        }
    }
}
