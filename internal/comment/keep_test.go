package comment_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"gitops-agent/internal/comment"
	"gitops-agent/internal/comment/forgetest"
	"gitops-agent/internal/forge"
)

func place(f *forgetest.Forge) comment.Place {
	return comment.Place{Kind: f.Kind, API: f.API(), Repository: "lab/homelab", Number: 12, Run: 7, Token: forgetest.Token}
}

func keep(t *testing.T, p comment.Place, text string) comment.Outcome {
	t.Helper()
	outcome, err := comment.Keep(t.Context(), p, "plan", text)
	if err != nil {
		t.Fatal(err)
	}
	return outcome
}

// Each forge gets one comment, which later runs update, also if it is not on the first page and others have copied its marker.
func TestOneCommentIsUpdated(t *testing.T) {
	t.Parallel()
	for _, kind := range forge.Kinds() {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			f := forgetest.New(t, kind)
			for i := range 60 {
				f.Add("mallory", fmt.Sprintf("<!-- gitops-agent comment plan run 9 -->\ncopy %d", i))
			}
			p := place(f)
			if got := keep(t, p, "one\n"); got != comment.Created {
				t.Errorf("got %s, want created", got)
			}
			if got := keep(t, p, "one\n"); got != comment.Same {
				t.Errorf("got %s, want unchanged", got)
			}
			p.Run = 8
			if got := keep(t, p, "two\n"); got != comment.Updated {
				t.Errorf("got %s, want updated", got)
			}
			p.Run = 6
			if got := keep(t, p, "old\n"); got != comment.Outdated {
				t.Errorf("got %s, want outdated", got)
			}
			mine := f.Of(forgetest.Account)
			if len(mine) != 1 || !strings.HasSuffix(mine[0], "-->\ntwo\n") {
				t.Errorf("got comments %q, want one with the second text", mine)
			}
			if got := len(f.Of("mallory")); got != 60 {
				t.Errorf("got %d comments of others, want all 60", got)
			}
		})
	}
}

// Two runs at the same time leave one comment.
func TestConcurrentRunsLeaveOneComment(t *testing.T) {
	t.Parallel()
	f := forgetest.New(t, forge.GitHub)
	f.Meet(2) // both list the comments before one of them makes one
	var runs sync.WaitGroup
	for i := range 2 {
		p := place(f)
		p.Run = uint64(i + 1)
		runs.Go(func() {
			if _, err := comment.Keep(t.Context(), p, "plan", fmt.Sprintf("run %d\n", p.Run)); err != nil {
				t.Errorf("run %d: %v", p.Run, err)
			}
		})
	}
	runs.Wait()
	if mine := f.Of(forgetest.Account); len(mine) != 1 || !strings.HasSuffix(mine[0], "run 2\n") {
		t.Errorf("got comments %q, want one, of the later run", mine)
	}
}

// A lost answer and too many requests are repeated, and make no second comment. Other refusals are errors that say what is wrong.
func TestFailures(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		fault forgetest.Fault
		want  string // part of the error; "" is none
	}{
		"lost_answer":     {forgetest.Fault{Method: "POST", Status: 502, After: true}, ""},
		"rate_limit":      {forgetest.Fault{Method: "POST", Status: 403, Header: map[string]string{"Retry-After": "1"}}, ""},
		"primary_limit":   {forgetest.Fault{Method: "GET", Status: 403, Header: map[string]string{"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1"}}, ""},
		"server_error":    {forgetest.Fault{Method: "GET", Status: 503}, ""},
		"may_not_comment": {forgetest.Fault{Method: "POST", Status: 403}, "the token may not comment"},
		"no_such_request": {forgetest.Fault{Method: "POST", Status: 404}, "does not exist, or the token may not see it"},
		"too_many":        {forgetest.Fault{Method: "GET", Status: 429, Times: 1000}, "too many requests"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := forgetest.New(t, forge.GitHub)
			f.Break(test.fault)
			patience := time.Minute
			if test.fault.Times > 0 { // a fault that never ends
				patience = 500 * time.Millisecond
			}
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			_, err := comment.Keep(ctx, place(f), "plan", "text\n")
			switch {
			case test.want == "" && err != nil:
				t.Errorf("got %v, want success", err)
			case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)):
				t.Errorf("got %v, want an error with %q", err, test.want)
			}
			if mine := f.Of(forgetest.Account); test.want == "" && len(mine) != 1 {
				t.Errorf("got %d comments, want one", len(mine))
			}
		})
	}
}

// A body that the forge would refuse is cut at the end of a line, and says so. At GitLab no line is a command.
func TestBodies(t *testing.T) {
	t.Parallel()
	f := forgetest.New(t, forge.GitHub)
	keep(t, place(f), "<details>\n"+strings.Repeat("äöü a line of the plan\n", 5000))
	body := f.Of(forgetest.Account)[0]
	if n := len([]rune(body)); n > 65_536 || !strings.Contains(body, "**The rest is omitted**") || !strings.Contains(body, "plan\n\n</details>\n") {
		t.Errorf("got %d characters ending in %q, want a comment that says it was cut", n, body[len(body)-150:])
	}
	lab := forgetest.New(t, forge.GitLab)
	keep(t, place(lab), "text\n/merge\n  /close\n")
	if body := lab.Of(forgetest.Account)[0]; strings.Contains(body, "\n/merge") || strings.Contains(body, "\n  /close") {
		t.Errorf("got %q, want no command", body)
	}
}

// The token is sent only to an encrypted address, and a job that is not for a pull request says so.
func TestPlaceIsChecked(t *testing.T) {
	t.Parallel()
	good := comment.Place{Kind: forge.GitHub, API: "https://api.github.com", Repository: "lab/homelab", Number: 1, Token: "t"}
	if err := good.Check(); err != nil {
		t.Errorf("got %v, want none", err)
	}
	for want, change := range map[string]func(*comment.Place){
		"use https":                      func(p *comment.Place) { p.API = "http://git.example.org/api/v1" },
		"without credentials":            func(p *comment.Place) { p.API = "https://u:p@git.example.org" },
		"does not run for one":           func(p *comment.Place) { p.Number = 0 },
		"no token":                       func(p *comment.Place) { p.Token = "" },
		"want github, gitlab or gitea":   func(p *comment.Place) { p.Kind = "svn" },
		"the repository is not known":    func(p *comment.Place) { p.Repository = "a/../../b" },
		"the token of the forge has mor": func(p *comment.Place) { p.Token = "a\r\nX: b" },
	} {
		p := good
		if change(&p); p.Check() == nil || !strings.Contains(p.Check().Error(), want) {
			t.Errorf("got %v, want an error with %q", p.Check(), want)
		}
	}
	for _, name := range []string{"", "a--b", "a>b", "../a", "a b"} {
		if comment.CheckName(name) == nil {
			t.Errorf("got no error for the name %q", name)
		}
	}
}

// The environments are those that the forges document for jobs of pull requests.
func TestFromEnvironment(t *testing.T) {
	t.Parallel()
	github := map[string]string{"GITHUB_ACTIONS": "true", "GITHUB_API_URL": "https://api.github.com", "GITHUB_REPOSITORY": "lab/homelab", "GITHUB_REF": "refs/pull/12/merge", "GITHUB_RUN_ID": "99", "GITHUB_TOKEN": "t"}
	want := comment.Place{Kind: forge.GitHub, API: "https://api.github.com", Repository: "lab/homelab", Number: 12, Run: 99, Token: "t"}
	if got := comment.FromEnvironment(func(name string) string { return github[name] }); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	github["GITEA_ACTIONS"], github["GITHUB_API_URL"], github["GITHUB_REF"] = "true", "https://git.example.org/api/v1", "refs/pull/12/head"
	want.Kind, want.API = forge.Gitea, "https://git.example.org/api/v1"
	if got := comment.FromEnvironment(func(name string) string { return github[name] }); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	gitlab := map[string]string{"GITLAB_CI": "true", "CI_API_V4_URL": "https://gitlab.com/api/v4", "CI_MERGE_REQUEST_PROJECT_ID": "42", "CI_MERGE_REQUEST_IID": "12", "CI_PIPELINE_ID": "99", "GITLAB_TOKEN": "t"}
	want = comment.Place{Kind: forge.GitLab, API: "https://gitlab.com/api/v4", Repository: "42", Number: 12, Run: 99, Token: "t"}
	if got := comment.FromEnvironment(func(name string) string { return gitlab[name] }); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
