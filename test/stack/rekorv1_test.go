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
	"strings"
	"syscall"
	"testing"
)

// Where Rekor v1 and what it stands on listen.
const (
	rekorV1URL   = "http://127.0.0.1:6001"
	rekorV1Host  = "rekor1.lab" // begins its checkpoints
	trillianURL  = "127.0.0.1:8090"
	postgresPort = "5432"
)

// startRekorV1 adds a Rekor v1 to the services: PostgreSQL, Trillian's server and signer with one tree, and the log in front of them. There
// is no search index, which would want another database.
func (s *sigstore) startRekorV1() {
	s.t.Helper()
	startPostgres(s.t, trillianSchema.file())
	store := []string{
		"--storage_system=postgresql", "--quota_system=noop", "--postgresql_uri=postgresql://trillian@127.0.0.1:" + postgresPort + "/postgres",
	}
	s.start(trillianServer, answers("http://127.0.0.1:8091/healthz"), append(store, "--rpc_endpoint="+trillianURL, "--http_endpoint=127.0.0.1:8091")...)
	s.start(trillianSigner, answers("http://127.0.0.1:8093/healthz"), append(store, "--rpc_endpoint=127.0.0.1:8092", "--http_endpoint=127.0.0.1:8093",
		"--force_master", "--sequencer_interval=50ms")...)
	tree, err := exec.CommandContext(s.t.Context(), createTree.file(), "--admin_server="+trillianURL).Output()
	if err != nil {
		s.t.Fatalf("create tree: %v", err)
	}
	key := newKeyPair(s.t, p256)
	s.logV1 = &key
	s.start(rekorV1, answers(rekorV1URL+"/ping"), "serve", "--rekor_server.address", "127.0.0.1", "--port", "6001", "--log_type", "prod",
		"--rekor_server.hostname", rekorV1Host, "--rekor_server.signer", s.write("rekor1.key", key.private()),
		"--trillian_log_server.address", "127.0.0.1", "--trillian_log_server.port", "8090",
		"--trillian_log_server.tlog_id", strings.TrimSpace(string(tree)), "--enable_retrieve_api=false",
		"--enabled_api_endpoints", "getLogInfo,getPublicKey,getLogProof,createLogEntry,getLogEntryByIndex,getLogEntryByUUID,searchLogQuery")
	s.write("rekor1.pub", key.public())
	s.write("trusted_root.json", s.trustedRoot())
}

// postgresPrograms returns the folder in which Debian keeps the server's programs.
func postgresPrograms() (string, error) {
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if err != nil || len(found) == 0 {
		return "", errors.New("no PostgreSQL: apt-get install postgresql")
	}
	return filepath.Dir(found[len(found)-1]), nil
}

// startPostgres starts a database with the tables of a schema, for the user trillian. It does not run as root, and so gets a folder of its own.
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
	quit := syscall.SIGQUIT // without it the processes that serve connections outlive the one that started them
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
