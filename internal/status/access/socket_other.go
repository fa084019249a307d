//go:build !linux

package access

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
)

// maxPath is the longest path of a socket, in bytes, on the systems other than Linux.
const maxPath = 103

// socketPath returns the path of the socket in a folder.
func socketPath(folder *os.File) (string, error) {
	path := filepath.Join(folder.Name(), SocketName)
	if len(path) > maxPath {
		return "", fmt.Errorf("the path of a socket has at most %d bytes here: use a shorter state_dir", maxPath)
	}
	return path, nil
}

// listenPrivate makes a socket, listens on it, and gives it socketMode.
func listenPrivate(ctx context.Context, path string) (*net.UnixListener, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "unix", path)
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(path, socketMode); err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	return listener.(*net.UnixListener), nil //nolint:forcetypeassert // it is one
}

// peer returns the user who made the socket.
func peer(_ net.Conn, path string) (int, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return 0, err
	}
	return owner(info), nil
}
