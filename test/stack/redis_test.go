//go:build integration

package stack

import (
	"context"
	"errors"
	"io"
	"net"
	"os/exec"
	"syscall"
	"testing"
)

const redisPort = "6379"

// findRedis returns the program of Debian's package redis-server.
func findRedis() (string, error) {
	program, err := exec.LookPath("redis-server")
	if err != nil {
		return "", errors.New("no Redis: apt-get install redis-server")
	}
	return program, nil
}

// startRedis starts a database that keeps nothing on disk.
func startRedis(t *testing.T) {
	t.Helper()
	program, err := findRedis()
	if err != nil {
		t.Fatal(err)
	}
	server := exec.Command(program, "--port", redisPort, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", t.TempDir())
	runService(t, server, syscall.SIGKILL, redisAnswers)
}

// redisAnswers reports whether Redis replies to a ping.
func redisAnswers(ctx context.Context) bool {
	connection, err := (&net.Dialer{}).DialContext(ctx, "tcp", "127.0.0.1:"+redisPort)
	if err != nil {
		return false
	}
	defer connection.Close()
	if _, err := io.WriteString(connection, "PING\r\n"); err != nil {
		return false
	}
	reply := make([]byte, len("+PONG"))
	_, err = io.ReadFull(connection, reply)
	return err == nil && string(reply) == "+PONG"
}
