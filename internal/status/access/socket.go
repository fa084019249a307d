package access

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"syscall"

	"gitops-agent/reconcile/hostfile"
)

// SocketName is the name of the socket in the state directory through which commands on the agent's host read its status. Its mode and the owner of the directory replace a token.
const SocketName = "agent.sock"

const socketMode = 0o600

// ErrNoAgent means that no agent listens on a socket: there is none, or the agent that made it has ended.
var ErrNoAgent = errors.New("no agent listens")

// errNoSocket means that a file of another kind has the name of the socket.
var errNoSocket = errors.New("it is no socket: remove it")

// socket listens on the socket in a state directory.
type socket struct {
	*net.UnixListener
	folder *os.File
	made   fs.FileInfo
}

// ListenSocket makes the socket in a state directory, in place of one whose agent has ended, and listens on it. At no moment can another user than the one of this process and root connect. The
// caller holds the lock of the directory, so that no other agent makes a socket meanwhile. Closing the listener also removes the socket, unless it is another agent's by then.
func ListenSocket(ctx context.Context, dir string) (net.Listener, error) {
	folder, err := openFolder(dir)
	if err != nil {
		return nil, err
	}
	s := socket{folder: folder}
	if err := s.listen(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", filepath.Join(dir, SocketName), err), folder.Close())
	}
	return s, nil
}

func (s *socket) listen(ctx context.Context) error {
	path, err := socketPath(s.folder)
	if err != nil {
		return err
	}
	if old, err := os.Lstat(path); err == nil && old.Mode().Type() != fs.ModeSocket {
		return errNoSocket
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return withoutPath(err)
	}
	if s.UnixListener, err = listenPrivate(ctx, path); err != nil {
		return withoutPath(err)
	}
	s.SetUnlinkOnClose(false) // Close does it
	s.made, err = os.Lstat(path)
	if err == nil && (s.made.Mode() != fs.ModeSocket|socketMode || owner(s.made) != os.Geteuid()) {
		err = fmt.Errorf("the file system gave it mode %s and user %d, want %s and user %d", s.made.Mode(), owner(s.made), fs.ModeSocket|fs.FileMode(socketMode), os.Geteuid())
	}
	if err != nil {
		return errors.Join(withoutPath(err), os.Remove(path), s.UnixListener.Close())
	}
	return nil
}

// Close removes the socket and stops listening. While it listens, no other file can have the number of its file.
func (s socket) Close() error {
	if path, err := socketPath(s.folder); err == nil {
		if now, err := os.Lstat(path); err == nil && os.SameFile(now, s.made) {
			_ = os.Remove(path) // a socket on which no program listens does no harm
		}
	}
	return errors.Join(s.UnixListener.Close(), s.folder.Close())
}

// DialSocket connects to the agent that uses a state directory. It returns ErrNoAgent if none listens, and another error if other users could have put the socket into the directory, or if the
// program that listens runs neither as the owner of the directory nor as root.
func DialSocket(ctx context.Context, dir string) (net.Conn, error) {
	folder, err := openFolder(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: %w", filepath.Join(dir, SocketName), ErrNoAgent)
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = folder.Close() }()
	conn, err := dial(ctx, folder)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED) {
		err = ErrNoAgent
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Join(dir, SocketName), err)
	}
	return conn, nil
}

// dial connects to the socket in a folder, and checks who listens there.
func dial(ctx context.Context, folder *os.File) (net.Conn, error) {
	path, err := socketPath(folder)
	if err != nil {
		return nil, err
	}
	info, err := os.Lstat(path)
	if err != nil {
		return nil, withoutPath(err)
	}
	if info.Mode().Type() != fs.ModeSocket {
		return nil, errNoSocket
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", path)
	if err != nil {
		return nil, withoutPath(err)
	}
	user, err := peer(conn, path)
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	if info, err = folder.Stat(); err == nil && user != 0 && user != owner(info) {
		err = fmt.Errorf("user %d listens there, and the directory belongs to user %d", user, owner(info))
	}
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}

// openFolder opens a state directory. It returns fs.ErrPermission to another user than its owner and root, and a *hostfile.UnsafeError if other users may put files into it, or another directory in its
// place.
func openFolder(dir string) (*os.File, error) {
	info, err := os.Stat(dir)
	if err != nil {
		return nil, err
	}
	if user := os.Geteuid(); user != 0 && user != owner(info) {
		return nil, fmt.Errorf("%s belongs to user %d, and this program runs as user %d: %w", dir, owner(info), user, fs.ErrPermission)
	}
	if err := hostfile.CheckTrusted(dir, owner(info)); err != nil {
		return nil, err
	}
	return os.Open(dir) //nolint:gosec // the operator chooses the path
}

// withoutPath returns an error without the path of socketPath, which means nothing to people.
func withoutPath(err error) error {
	if op := new(net.OpError); errors.As(err, &op) {
		err = op.Err
	}
	if at := new(fs.PathError); errors.As(err, &at) {
		err = at.Err
	}
	return err
}

// owner returns the owner of a file, or -1, which is no user, if the system does not tell it.
func owner(info fs.FileInfo) int {
	if stat, known := info.Sys().(*syscall.Stat_t); known {
		return int(stat.Uid)
	}
	return -1
}
