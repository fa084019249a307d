//go:build integration

package stack

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
)

const postgresPort = "5432"

// postgresPrograms returns the folder in which Debian installs the programs of the server.
func postgresPrograms() (string, error) {
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if err != nil || len(found) == 0 {
		return "", errors.New("no PostgreSQL: apt-get install postgresql")
	}
	return filepath.Dir(found[len(found)-1]), nil
}

// startPostgres starts a database with the tables of a schema, for the user trillian. PostgreSQL does not run as root, so the
// database gets a separate folder that belongs to the account postgres.
func startPostgres(t *testing.T, schema string) {
	t.Helper()
	programs, err := postgresPrograms()
	if err != nil {
		t.Fatal(err)
	}
	dir, account := t.TempDir(), postgresAccount(t)
	if err := errors.Join(os.Chmod(filepath.Dir(dir), 0o711), os.Chown(dir, int(account.Uid), int(account.Gid))); err != nil {
		t.Fatal(err)
	}
	command := func(name string, args ...string) *exec.Cmd {
		cmd := exec.Command(filepath.Join(programs, name), args...)
		cmd.Dir, cmd.SysProcAttr = dir, &syscall.SysProcAttr{Credential: account}
		return cmd
	}
	data := filepath.Join(dir, "data")
	if out, err := command("initdb", "-D", data, "-U", "trillian", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync").CombinedOutput(); err != nil {
		t.Fatalf("initdb: %v\n%s", err, out)
	}
	server := command("postgres", "-D", data, "-h", "127.0.0.1", "-p", postgresPort, "-k", dir, "-F")
	psql := []string{"-h", "127.0.0.1", "-p", postgresPort, "-U", "trillian", "-v", "ON_ERROR_STOP=1", "-q", "postgres"}
	quit := syscall.SIGQUIT // with another signal, the processes that serve connections may run longer than the server
	runService(t, server, quit, func(ctx context.Context) bool {
		return exec.CommandContext(ctx, "psql", append(psql, "-c", "select 1")...).Run() == nil
	})
	if out, err := exec.CommandContext(t.Context(), "psql", append(psql, "-f", schema)...).CombinedOutput(); err != nil {
		t.Fatalf("create tables: %v\n%s", err, out)
	}
}

func postgresAccount(t *testing.T) *syscall.Credential {
	t.Helper()
	account, err := user.Lookup("postgres")
	if err != nil {
		t.Fatal(err)
	}
	uid, err := strconv.ParseUint(account.Uid, 10, 32)
	if err != nil {
		t.Fatal(err)
	}
	gid, err := strconv.ParseUint(account.Gid, 10, 32)
	if err != nil {
		t.Fatal(err)
	}
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
}
