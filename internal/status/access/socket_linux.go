package access

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// socketPath returns the path of the socket in an open folder. It is short, because the path of a socket has at most 108 bytes, and means this folder also if another one gets its name.
func socketPath(folder *os.File) (string, error) {
	opened := filepath.Join("/proc/self/fd", strconv.FormatUint(uint64(folder.Fd()), 10))
	if _, err := os.Stat(opened); err != nil {
		return "", errors.New("a socket needs /proc, which is not mounted")
	}
	return filepath.Join(opened, SocketName), nil
}

// listenPrivate makes a socket with socketMode and listens on it. Linux gives the file the mode that the socket has before, less the umask, so there is no moment with another one.
func listenPrivate(ctx context.Context, path string) (*net.UnixListener, error) {
	private := func(_, _ string, c syscall.RawConn) error {
		var err error
		return errors.Join(c.Control(func(fd uintptr) { err = syscall.Fchmod(int(fd), socketMode) }), err)
	}
	listener, err := (&net.ListenConfig{Control: private}).Listen(ctx, "unix", path)
	if err != nil {
		return nil, err
	}
	return listener.(*net.UnixListener), nil //nolint:forcetypeassert // it is one
}

// peer returns the user who listened on the socket to which a connection leads, as the kernel noted it then.
func peer(conn net.Conn, _ string) (int, error) {
	raw, err := conn.(*net.UnixConn).SyscallConn() //nolint:forcetypeassert // it is one
	if err != nil {
		return 0, err
	}
	var by *syscall.Ucred
	var problem error
	if err := raw.Control(func(fd uintptr) {
		by, problem = syscall.GetsockoptUcred(int(fd), syscall.SOL_SOCKET, syscall.SO_PEERCRED)
	}); err != nil {
		return 0, err
	}
	if problem != nil {
		return 0, fmt.Errorf("find out who listens: %w", problem)
	}
	return int(by.Uid), nil
}
