package access_test

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"gitops-agent/internal/status/access"
	"gitops-agent/reconcile/hostfile"
)

// listen makes the socket of a directory, and answers one connection after the other with a text until the test ends.
func listen(t *testing.T, dir, text string) net.Listener {
	t.Helper()
	listener, err := access.ListenSocket(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	answer(t, listener, text)
	return listener
}

func answer(t *testing.T, listener net.Listener, text string) {
	t.Helper()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			_, _ = io.WriteString(conn, text)
			_ = conn.Close()
		}
	}()
	t.Cleanup(func() { _ = listener.Close(); <-ended })
}

// heard returns what the agent of a directory sends.
func heard(t *testing.T, dir string) (string, error) {
	t.Helper()
	conn, err := access.DialSocket(t.Context(), dir)
	if err != nil {
		return "", err
	}
	defer func() { _ = conn.Close() }()
	text, err := io.ReadAll(conn)
	return string(text), err
}

func socketIn(dir string) string { return filepath.Join(dir, access.SocketName) }

// TestSocketIsPrivate: the owner alone can connect, with every umask; the directory may be readable by all, and its path longer than that of a socket can be.
func TestSocketIsPrivate(t *testing.T) { //nolint:paralleltest // the umask is the process's
	dir := filepath.Join(t.TempDir(), strings.Repeat("long-", 40))
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	before := syscall.Umask(0)
	listener := listen(t, dir, "status")
	syscall.Umask(before)
	info, err := os.Lstat(socketIn(dir))
	if err != nil || info.Mode() != fs.ModeSocket|0o600 {
		t.Fatalf("got mode %v and %v, want a socket with mode 0600", info.Mode(), err)
	}
	if text, err := heard(t, dir); text != "status" || err != nil {
		t.Errorf("got %q and %v, want what the agent sends", text, err)
	}
	if err := listener.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(socketIn(dir)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v after the end, want no socket", err)
	}
}

func TestNoAgentListens(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, dir := range map[string]string{"no socket": dir, "no directory": filepath.Join(dir, "none")} {
		if text, err := heard(t, dir); !errors.Is(err, access.ErrNoAgent) {
			t.Errorf("%s: got %q and %v, want that no agent listens", name, text, err)
		}
	}
}

// stale leaves a socket as a process does that is killed.
func stale(t *testing.T, dir string) {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", socketIn(dir))
	if err != nil {
		t.Fatal(err)
	}
	listener.(*net.UnixListener).SetUnlinkOnClose(false)
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestSocketOfAnAgentThatHasEnded(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	stale(t, dir)
	if text, err := heard(t, dir); !errors.Is(err, access.ErrNoAgent) {
		t.Errorf("got %q and %v, want that no agent listens", text, err)
	}
	listen(t, dir, "status")
	if text, err := heard(t, dir); text != "status" || err != nil {
		t.Errorf("got %q and %v, want the agent that replaced it", text, err)
	}
}

// TestSocketOfTheNextAgentStays: an agent that has lost the directory to another one does not remove the other one's socket when it ends.
func TestSocketOfTheNextAgentStays(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first := listen(t, dir, "first")
	listen(t, dir, "second")
	if err := first.Close(); err != nil {
		t.Error(err)
	}
	if text, err := heard(t, dir); text != "second" || err != nil {
		t.Errorf("got %q and %v, want the second agent", text, err)
	}
}

// TestNoSocket: what has the name of the socket and is none is neither removed nor followed.
func TestNoSocket(t *testing.T) {
	t.Parallel()
	other := t.TempDir()
	listen(t, other, "other")
	for name, put := range map[string]func(string) error{
		"file":   func(path string) error { return os.WriteFile(path, []byte("text"), 0o600) },
		"folder": func(path string) error { return os.Mkdir(path, 0o700) },
		"link":   func(path string) error { return os.Symlink(socketIn(other), path) },
		"pipe":   func(path string) error { return syscall.Mkfifo(path, 0o600) },
	} {
		dir := t.TempDir()
		if err := put(socketIn(dir)); err != nil {
			t.Fatal(err)
		}
		before, err := os.Lstat(socketIn(dir))
		if err != nil {
			t.Fatal(err)
		}
		if text, err := heard(t, dir); err == nil || errors.Is(err, access.ErrNoAgent) || !strings.Contains(err.Error(), "it is no socket: remove it") {
			t.Errorf("%s: client: got %q and %v, want that it is no socket", name, text, err)
		}
		if _, err := access.ListenSocket(t.Context(), dir); err == nil || !strings.Contains(err.Error(), socketIn(dir)+": it is no socket: remove it") {
			t.Errorf("%s: agent: got %v, want that it is no socket", name, err)
		}
		if after, err := os.Lstat(socketIn(dir)); err != nil || !os.SameFile(before, after) {
			t.Errorf("%s: got %v, want it left as it was", name, err)
		}
	}
}

// TestDirectoryOthersMayChange: neither side uses a directory in which another user can replace the socket, or which another user can replace.
func TestDirectoryOthersMayChange(t *testing.T) {
	t.Parallel()
	for name, changed := range map[string]string{"directory": "above/state", "folder above": "above"} {
		root := t.TempDir()
		dir := filepath.Join(root, "above/state")
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		listen(t, dir, "status")
		if err := os.Chmod(filepath.Join(root, changed), 0o770); err != nil {
			t.Fatal(err)
		}
		if os.Geteuid() == 0 { // the group of root may be trusted, another one is not
			if err := os.Chown(filepath.Join(root, changed), 0, other); err != nil {
				t.Fatal(err)
			}
		}
		if text, err := heard(t, dir); !errors.As(err, new(*hostfile.UnsafeError)) {
			t.Errorf("%s: client: got %q and %v, want it refused", name, text, err)
		}
		if _, err := access.ListenSocket(t.Context(), dir); !errors.As(err, new(*hostfile.UnsafeError)) {
			t.Errorf("%s: agent: got %v, want it refused", name, err)
		}
	}
}

const other = 4711 // a user that does not exist

// become calls a function in a thread that has become another user. The thread ends with it.
func become(t *testing.T, user int, call func() error) error {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can become another user")
	}
	ended := make(chan error)
	go func() {
		runtime.LockOSThread()
		id := uintptr(user)
		if _, _, errno := syscall.RawSyscall(syscall.SYS_SETRESUID, id, id, id); errno != 0 { // of this thread alone, unlike syscall.Setresuid
			ended <- errno
			return
		}
		ended <- call()
	}()
	return <-ended
}

// listenAs makes the socket of a directory, which all may use, and listens on it as another user.
func listenAs(t *testing.T, user int, dir string) net.Listener {
	t.Helper()
	folder, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = folder.Close() }()
	path := fmt.Sprintf("/proc/self/fd/%d/%s", folder.Fd(), access.SocketName)
	fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	file := os.NewFile(uintptr(fd), path)
	defer func() { _ = file.Close() }()
	if err := errors.Join(syscall.Bind(fd, &syscall.SockaddrUnix{Name: path}), os.Chmod(path, 0o666)); err != nil {
		t.Fatal(err)
	}
	if err := become(t, user, func() error { return syscall.Listen(fd, 8) }); err != nil {
		t.Fatal(err)
	}
	listener, err := net.FileListener(file)
	if err != nil {
		t.Fatal(err)
	}
	return listener
}

// TestWhoListens: a program of another user that has put its socket into the directory, while it could, gets no request; the agent's user and root are believed.
func TestWhoListens(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		owner, listener int
		refused         bool
	}{
		"another user":                   {0, other, true},
		"another user, owner not root":   {other, other + 1, true},
		"owner of the directory":         {other, other, false},
		"root":                           {0, 0, false},
		"root in an agent's directory":   {other, 0, false},
		"user with the number of nobody": {0, 65534, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			answer(t, listenAs(t, test.listener, dir), "status")
			if err := os.Chown(dir, test.owner, test.owner); err != nil {
				t.Fatal(err)
			}
			text, err := heard(t, dir)
			if test.refused && (err == nil || !strings.Contains(err.Error(), "listens there, and the directory belongs to user")) || !test.refused && (err != nil || text != "status") {
				t.Errorf("got %q and %v, want refused %t", text, err, test.refused)
			}
		})
	}
}

// TestOtherUsersAreNotServed: the mode of the socket keeps them out, also if they may look into the directory.
func TestOtherUsersAreNotServed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	listen(t, dir, "status")
	folder, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = folder.Close() }()
	if err := folder.Chmod(0o755); err != nil {
		t.Fatal(err)
	}
	connect := func() error {
		fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
		if err != nil {
			return err
		}
		return errors.Join(syscall.Connect(fd, &syscall.SockaddrUnix{Name: fmt.Sprintf("/proc/self/fd/%d/%s", folder.Fd(), access.SocketName)}), syscall.Close(fd))
	}
	if err := become(t, other, connect); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("got %v, want it forbidden", err)
	}
	if err := errors.Join(os.Chmod(socketIn(dir), 0o666), become(t, other, connect)); err != nil {
		t.Errorf("with another mode: got %v, want a connection: the mode alone decides", err)
	}
}

// TestClientOfAnotherUser: its error names the owner, and is no advice to change the owner.
func TestClientOfAnotherUser(t *testing.T) {
	t.Parallel()
	dial := func() error { _, err := access.DialSocket(t.Context(), "/"); return err }
	err := dial()
	if os.Geteuid() == 0 {
		err = become(t, other, dial)
	}
	if !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), "/ belongs to user 0, and this program runs as user ") {
		t.Errorf("got %v, want the owner", err)
	}
}
