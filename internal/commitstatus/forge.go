package commitstatus

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"gitops-agent/internal/forge"
	"gitops-agent/internal/outbound"
)

// Forge is the place where statuses are shown.
type Forge struct {
	Kind       forge.Kind
	API        string // https://api.github.com, https://host/api/v4, https://host/api/v1
	Repository string // owner/name; at GitLab the path of the project
	// Token is called for each request.
	Token   func() (string, error)
	CAFile  string        // certificates that are trusted in addition to those of the system, "" is none
	Context string        // the name of the status at the forge
	Link    string        // address of the status page, "" is none
	Timeout time.Duration // of a request
}

// Derive returns the API and the repository that belong to the address of a remote, false if no forge serves it.
func Derive(kind forge.Kind, remote string) (api, repository string, found bool) {
	u, err := url.Parse(forge.WebURL(remote))
	if err != nil || u.Host == "" {
		return "", "", false
	}
	base := u.Scheme + "://" + u.Host
	repository = strings.Trim(u.Path, "/")
	switch {
	case kind == forge.GitHub && u.Hostname() == "github.com":
		api = "https://api.github.com"
	case kind == forge.GitHub:
		api = base + "/api/v3"
	case kind == forge.GitLab:
		api = base + "/api/v4"
	case kind == forge.Gitea:
		api = base + "/api/v1"
	}
	return api, repository, api != "" && strings.Contains(repository, "/")
}

// permanentError means that another attempt would fail for the same reason.
type permanentError struct{ error }

// word returns a state in the vocabulary of the forge.
func (f Forge) word(s State) string {
	words := map[State]string{Pending: "pending", Held: "pending", Refused: "failure", Converged: "success", Replaced: "error"}
	if f.Kind == forge.GitLab {
		words = map[State]string{Pending: "running", Held: "running", Refused: "failed", Converged: "success", Replaced: "canceled"}
	}
	return words[s]
}

// request returns the request that sets the status of a commit.
func (f Forge) request(ctx context.Context, commit string, s Status) (*http.Request, error) {
	path := f.Kind.Path(f.Repository) + "/statuses/" + url.PathEscape(commit)
	body, err := json.Marshal(struct {
		State       string `json:"state"`
		TargetURL   string `json:"target_url,omitempty"`
		Description string `json:"description"`
		Context     string `json:"context"`
	}{f.word(s.State), f.Link, s.Description, f.Context})
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimSuffix(f.API, "/")+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	token, err := f.Token()
	if err != nil {
		return nil, err
	}
	f.Kind.Authorize(r, token)
	return r, nil
}

// send sets the status of a commit.
//
// Source: GitLab, Ci::CreateCommitStatusService.
func (f Forge) send(ctx context.Context, commit string, s Status) error {
	if err := f.checkAPI(); err != nil {
		return permanentError{err}
	}
	ctx, cancel := context.WithTimeout(ctx, f.Timeout)
	defer cancel()
	r, err := f.request(ctx, commit, s)
	if err != nil {
		return err
	}
	code, err := outbound.Send(r, f.CAFile)
	if err != nil {
		var wrapped *url.Error
		if errors.As(err, &wrapped) {
			err = wrapped.Err
		}
		return err
	}
	switch {
	case outbound.Succeeded(code), f.Kind == forge.GitLab && code == http.StatusBadRequest && f.word(s.State) == "running":
		return nil // GitLab refuses a state that the commit already has: another agent, or this one before a restart, has set it
	case outbound.IsTemporary(code), f.Kind == forge.GitLab && code == http.StatusConflict: // GitLab works on another status of the commit
		return fmt.Errorf("the forge answered with status %d", code)
	default:
		return permanentError{fmt.Errorf("the forge answered with status %d", code)}
	}
}

// Check returns an error if the files or the address cannot be used. It sends nothing.
func (f Forge) Check() error {
	if _, err := outbound.TLS(f.CAFile); err != nil {
		return err
	}
	if err := f.checkAPI(); err != nil {
		return err
	}
	_, err := f.Token()
	return err
}

// checkAPI returns an error if the address cannot be used, or if a token for it would not be encrypted.
func (f Forge) checkAPI() error {
	if u, err := url.Parse(f.API); err != nil || u.Host == "" || u.User != nil || u.Scheme != "https" && u.Scheme != "http" {
		return errors.New("api: want https://host/path without credentials")
	} else if outbound.IsExposed(u) {
		return errors.New("api: http would send the token unencrypted: use https")
	}
	return nil
}
