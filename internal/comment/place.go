package comment

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"gitops-agent/internal/forge"
	"gitops-agent/internal/outbound"
)

// Place is a pull request, or a merge request of GitLab.
type Place struct {
	Kind       forge.Kind
	API        string // https://api.github.com, https://host/api/v4, https://host/api/v1
	Repository string // owner/name; at GitLab the path or the number of the project
	Number     int
	Run        uint64 // of the CI: a later run has a larger number; 0 is unknown
	Token      string
	CAFile     string // certificates that are trusted in addition to those of the system, "" is none
}

// pullRef matches the ref of a job for a pull request.
var pullRef = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^refs/pull/([0-9]+)/`) })

// FromEnvironment returns what the environment of a CI job says about the pull request. What it does not say is empty.
func FromEnvironment(getenv func(string) string) Place {
	if getenv("GITLAB_CI") != "" {
		p := Place{Kind: forge.GitLab, API: getenv("CI_API_V4_URL"), Repository: getenv("CI_MERGE_REQUEST_PROJECT_ID"), Token: getenv("GITLAB_TOKEN")}
		p.Number, _ = strconv.Atoi(getenv("CI_MERGE_REQUEST_IID"))
		p.Run, _ = strconv.ParseUint(getenv("CI_PIPELINE_ID"), 10, 64)
		return p
	}
	p := Place{API: getenv("GITHUB_API_URL"), Repository: getenv("GITHUB_REPOSITORY"), Token: getenv("GITHUB_TOKEN")}
	switch {
	case getenv("FORGEJO_ACTIONS") != "", getenv("GITEA_ACTIONS") != "": // they set the variables of GitHub too
		p.Kind = forge.Gitea
	case getenv("GITHUB_ACTIONS") != "":
		p.Kind = forge.GitHub
	}
	if m := pullRef().FindStringSubmatch(getenv("GITHUB_REF")); m != nil {
		p.Number, _ = strconv.Atoi(m[1])
	}
	p.Run, _ = strconv.ParseUint(getenv("GITHUB_RUN_ID"), 10, 64)
	return p
}

// Check returns every problem of the place.
func (p Place) Check() error {
	var problems []error
	refuse := func(wrong bool, text string) {
		if wrong {
			problems = append(problems, errors.New(text))
		}
	}
	refuse(limits[p.Kind] == 0, fmt.Sprintf("the forge is %q, want github, gitlab or gitea (also for Forgejo)", p.Kind))
	u, err := url.Parse(p.API)
	good := err == nil && u.Host != "" && u.User == nil && (u.Scheme == "https" || u.Scheme == "http")
	refuse(!good, "the address of the API is not known, want https://host/path without credentials")
	refuse(good && outbound.IsExposed(u), "the address of the API has http, which would send the token unencrypted: use https")
	refuse(p.Repository == "" || strings.Contains("/"+p.Repository+"/", "/../"), "the repository is not known")
	refuse(p.Number <= 0, "the number of the pull request is not known: this job does not run for one")
	refuse(p.Token == "", "there is no token of the forge")
	refuse(strings.ContainsAny(p.Token, "\r\n "), "the token of the forge has more than one word")
	return errors.Join(problems...)
}
