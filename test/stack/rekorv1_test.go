//go:build integration

package stack

import (
	"os/exec"
	"strings"
)

// The addresses of Rekor v1 and Trillian.
const (
	rekorV1URL  = "http://127.0.0.1:6001"
	rekorV1Host = "rekor1.lab" // begins its checkpoints
	trillianURL = "127.0.0.1:8090"
)

// startRekorV1 adds a Rekor v1 to the services: PostgreSQL, Trillian's server and signer with one tree, Redis for the search index, and the log in
// front of them.
func (s *sigstore) startRekorV1() {
	s.t.Helper()
	startPostgres(s.t, trillianSchema.file())
	startRedis(s.t)
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
		"--trillian_log_server.tlog_id", strings.TrimSpace(string(tree)), "--redis_server.address", "127.0.0.1", "--redis_server.port", redisPort,
		"--enabled_api_endpoints", "getLogInfo,getPublicKey,getLogProof,createLogEntry,getLogEntryByIndex,getLogEntryByUUID,searchLogQuery,searchIndex")
	s.write("rekor1.pub", key.public())
	s.write("trusted_root.json", s.trustedRoot())
}
