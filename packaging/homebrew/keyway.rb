# Filled in by `cargo xtask dist` once there is a macOS archive and the project has an address.
class Keyway < Formula
  desc "{{description}}"
  homepage "{{address}}"
  version "{{version}}"
  license any_of: ["MIT", "Apache-2.0"]

  on_arm do
    url "{{address}}/releases/download/v{{version}}/keyway-{{version}}-aarch64-apple-darwin.tar.xz"
    sha256 "{{sha256 aarch64-apple-darwin}}"
  end
  on_intel do
    url "{{address}}/releases/download/v{{version}}/keyway-{{version}}-x86_64-apple-darwin.tar.xz"
    sha256 "{{sha256 x86_64-apple-darwin}}"
  end

  def install
    bin.install "bin/keyway"
    share.install Dir["share/*"]
  end

  test do
    system bin/"keyway", "demo", "--check"
  end
end
