package comment

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"gitops-agent/internal/bounds"
	"gitops-agent/internal/forge"
	"gitops-agent/internal/outbound"
)

// Bounds of one search.
const (
	perPage  = 50
	maxPages = 100      // a pull request with more comments is not searched to its end
	maxReply = 16 << 20 // bytes of one page
)

// note is a comment as a forge lists it.
type note struct {
	ID     int64  `json:"id"`
	Body   string `json:"body"`
	User   person `json:"user"`   // GitHub, Gitea
	Author person `json:"author"` // GitLab
}

// person is an account of a forge.
type person struct {
	Login    string `json:"login"`
	Username string `json:"username"`
}

func (p person) name() string { return cmp.Or(p.Login, p.Username) }

// statusError is an answer other than 2xx.
type statusError struct {
	status int
	wait   time.Duration // that the forge asks for; 0 is none
	limit  bool          // too many requests
	what   string
}

func (e *statusError) Error() string {
	text := fmt.Sprintf("%s: the forge answered with status %d", e.what, e.status)
	switch {
	case e.limit:
		return text + ", too many requests"
	case e.status == http.StatusNotFound:
		return text + ": the pull request does not exist, or the token may not see it"
	case e.status == http.StatusForbidden, e.status == http.StatusUnauthorized:
		return text + ": the token may not comment"
	}
	return text
}

// isTemporary reports whether another attempt may help.
func isTemporary(err error) bool {
	var s *statusError
	if errors.As(err, &s) {
		return s.limit || outbound.IsTemporary(s.status)
	}
	var network *url.Error
	return errors.As(err, &network)
}

// send sends a request and decodes the answer. Path is below the API.
// replyLimits are those of an answer of a forge: a page of comments.
var replyLimits = bounds.JSON{Bytes: maxReply, Values: 200_000, Elements: 20_000, Depth: 32}

func (p Place) send(ctx context.Context, what, method, path string, body string, into any) (http.Header, error) {
	var content []byte
	if body != "" {
		content, _ = json.Marshal(map[string]string{"body": body}) // strings: it cannot fail
	}
	r, err := http.NewRequestWithContext(ctx, method, strings.TrimSuffix(p.API, "/")+path, bytes.NewReader(content))
	if err != nil {
		return nil, err
	}
	p.Kind.Authorize(r, p.Token)
	reply, err := outbound.Exchange(r, p.CAFile, maxReply)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	if !outbound.Succeeded(reply.Status) {
		return nil, newStatusError(what, reply)
	}
	if into != nil {
		if err := replyLimits.Unmarshal(reply.Body, into); err != nil {
			return nil, fmt.Errorf("%s: decode the answer: %w", what, err)
		}
	}
	return reply.Header, nil
}

// newStatusError reads how long the forge asks to wait. GitHub refuses with 403 too if there are too many requests.
func newStatusError(what string, reply outbound.Reply) *statusError {
	e := &statusError{status: reply.Status, what: what, limit: reply.Status == http.StatusTooManyRequests}
	if seconds, err := strconv.Atoi(reply.Header.Get("Retry-After")); err == nil {
		e.wait, e.limit = time.Duration(seconds)*time.Second, e.limit || reply.Status == http.StatusForbidden
	} else if reply.Header.Get("X-Ratelimit-Remaining") == "0" {
		e.limit = true
		if at, err := strconv.ParseInt(reply.Header.Get("X-Ratelimit-Reset"), 10, 64); err == nil {
			e.wait = time.Until(time.Unix(at, 0))
		}
	}
	return e
}

// list is the path of the comments of the pull request.
func (p Place) list() string {
	if p.Kind == forge.GitLab {
		return p.Kind.Path(p.Repository) + "/merge_requests/" + strconv.Itoa(p.Number) + "/notes"
	}
	return p.Kind.Path(p.Repository) + "/issues/" + strconv.Itoa(p.Number) + "/comments"
}

// one is the path of a comment.
func (p Place) one(id int64) string {
	if p.Kind == forge.GitLab {
		return p.list() + "/" + strconv.FormatInt(id, 10)
	}
	return p.Kind.Path(p.Repository) + "/issues/comments/" + strconv.FormatInt(id, 10)
}

// notes lists all comments, the oldest first. Gitea answers with all of them at once, and names no further page.
func (p Place) notes(ctx context.Context) ([]note, error) {
	var all []note
	for page := 1; page <= maxPages; page++ {
		query := "?per_page=" + strconv.Itoa(perPage) + "&page=" + strconv.Itoa(page)
		if p.Kind == forge.GitLab {
			query += "&sort=asc&order_by=created_at"
		}
		var some []note
		header, err := p.send(ctx, "list comments", http.MethodGet, p.list()+query, "", &some)
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
		if !strings.Contains(header.Get("Link"), `rel="next"`) {
			return all, nil
		}
	}
	return nil, fmt.Errorf("list comments: there are more than %d", perPage*maxPages)
}

// robots are the accounts of the tokens that forges give to their jobs. Some of these tokens may not ask for their own account.
var robots = map[forge.Kind][]string{forge.GitHub: {"github-actions[bot]"}, forge.Gitea: {"forgejo-actions", "gitea-actions"}}

// accounts returns the names of the account that the token belongs to.
func (p Place) accounts(ctx context.Context) ([]string, error) {
	var own person
	_, err := p.send(ctx, "ask for the account of the token", http.MethodGet, "/user", "", &own)
	var refused *statusError
	switch {
	case err == nil && own.name() != "":
		return []string{own.name()}, nil
	case errors.As(err, &refused) && !isTemporary(err) && refused.status != http.StatusUnauthorized && len(robots[p.Kind]) > 0:
		return robots[p.Kind], nil
	case err == nil:
		err = errors.New("ask for the account of the token: the answer has no name")
	}
	return nil, err
}

func (p Place) create(ctx context.Context, body string) error {
	_, err := p.send(ctx, "make a comment", http.MethodPost, p.list(), body, nil)
	return err
}

func (p Place) edit(ctx context.Context, id int64, body string) error {
	method := http.MethodPatch
	if p.Kind == forge.GitLab {
		method = http.MethodPut
	}
	_, err := p.send(ctx, "edit the comment", method, p.one(id), body, nil)
	return err
}

// remove deletes a comment. One that is gone is deleted.
func (p Place) remove(ctx context.Context, id int64) error {
	_, err := p.send(ctx, "delete a second comment", http.MethodDelete, p.one(id), "", nil)
	var s *statusError
	if errors.As(err, &s) && s.status == http.StatusNotFound {
		return nil
	}
	return err
}
