package main

import (
	"os"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"gitops-agent/internal/comment/forgetest"
	"gitops-agent/internal/forge"
)

// forgeCommand starts a forge, and sets the variables that a job for its pull request 12 has: forge KIND. The token of Proxmox may only read.
func forgeCommand(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: forge KIND")
	}
	s := stageOf(ts)
	if s.forges == nil {
		s.forges = map[forge.Kind]*forgetest.Forge{}
	}
	kind := forge.Kind(args[0])
	if s.forges[kind] == nil {
		s.forges[kind] = forgetest.Start(kind)
		ts.Defer(s.forges[kind].Close)
	}
	f := s.forges[kind]
	s.forge = f
	variables := map[string]string{
		"GITLAB_CI": "", "GITEA_ACTIONS": "", "GITHUB_ACTIONS": "true", "GITHUB_API_URL": f.API(), "GITHUB_REPOSITORY": "lab/homelab",
		"GITHUB_REF": "refs/pull/12/merge", "GITHUB_RUN_ID": "7", "GITHUB_TOKEN": forgetest.Token,
	}
	switch kind {
	case forge.GitHub:
	case forge.Gitea:
		variables["GITEA_ACTIONS"], variables["GITHUB_REF"] = "true", "refs/pull/12/head"
	case forge.GitLab:
		variables = map[string]string{
			"GITLAB_CI": "true", "CI_API_V4_URL": f.API(), "CI_MERGE_REQUEST_PROJECT_ID": "42", "CI_MERGE_REQUEST_IID": "12", "CI_PIPELINE_ID": "7",
			"GITLAB_TOKEN": forgetest.Token, "GITHUB_ACTIONS": "", "GITHUB_TOKEN": "",
		}
	}
	variables["PROXMOX_TOKEN"] = s.sim.Token("gitops@pve!ro")
	for name, value := range variables {
		ts.Setenv(name, value)
	}
}

// commentCommand writes the comment of the pull request to a file: comment FILE. There has to be exactly one.
func commentCommand(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: comment FILE")
	}
	got := stageOf(ts).forge.Of(forgetest.Account)
	if len(got) != 1 {
		ts.Fatalf("got %d comments, want one:\n%s", len(got), strings.Join(got, "\n----\n"))
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(got[0]), 0o600))
}
