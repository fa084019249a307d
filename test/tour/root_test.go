//go:build integration

package tour

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// release is the release of Debian whose programs the test installs. A newer systemd refuses control groups of version 1, which test machines have.
const release = "bookworm"

// installed is what a fresh Debian has beside its base: systemd as the first process, and git. Prometheus is there because the namespace has no network.
const installed = "systemd,systemd-sysv,dbus,ca-certificates,git,openssl,prometheus"

// debianRoot returns a folder with a fresh Debian. The first call on a machine makes it from the mirror of Debian, which takes two or three minutes.
func debianRoot() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find the cache folder: %w", err)
	}
	cache = filepath.Join(cache, "gitops-agent")
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return "", err
	}
	root := filepath.Join(cache, fmt.Sprintf("%s-%.6x", release, sha256.Sum256([]byte(installed))))
	if _, err := os.Stat(root); err == nil {
		return root, nil
	}
	work, err := os.MkdirTemp(cache, "new-")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(work) }()
	made := filepath.Join(work, "root")
	cmd := exec.Command("mmdebstrap", "--variant=minbase", "--include="+installed, "--aptopt=APT::Install-Recommends \"0\"", release, made)
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("mmdebstrap cannot make a fresh Debian; it needs the mirror of Debian: %w\n%s", err, out)
	}
	if err := os.Rename(made, root); err != nil && !errors.Is(err, os.ErrExist) { // another process was faster
		return "", err
	}
	return root, nil
}
