//! Embeds the default cases: every `cases/<suite>/*.json` except recordings becomes one `(path, text)` entry,
//! so that an installed binary checks without a checkout beside it.

use std::{env, fmt::Write as _, fs, io, path::Path};

fn main() -> io::Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../cases");
    println!("cargo:rerun-if-changed={}", root.display());
    let mut files = Vec::new();
    for suite in sorted(&root)? {
        if suite.is_dir() && !suite.ends_with("recorded") {
            println!("cargo:rerun-if-changed={}", suite.display());
            files.extend(sorted(&suite)?.into_iter().filter(|p| p.extension().is_some_and(|e| e == "json")));
        }
    }
    let mut text = String::from("&[\n");
    for file in files {
        println!("cargo:rerun-if-changed={}", file.display());
        let name = file.strip_prefix(&root).unwrap_or(&file).display().to_string();
        let path = file.display().to_string();
        let _ = writeln!(text, "    ({:?}, include_str!({path:?})),", format!("cases/{name}"));
    }
    text += "]\n";
    #[expect(clippy::disallowed_methods, reason = "a build script is told its folder this way only")]
    let out = env::var("OUT_DIR").map_err(io::Error::other)?;
    fs::write(Path::new(&out).join("cases.rs"), text)
}

fn sorted(folder: &Path) -> io::Result<Vec<std::path::PathBuf>> {
    let mut paths = fs::read_dir(folder)?.map(|e| e.map(|e| e.path())).collect::<io::Result<Vec<_>>>()?;
    paths.sort();
    Ok(paths)
}
