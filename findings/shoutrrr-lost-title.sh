#!/usr/bin/env bash
# github.com/nicholas-fedor/shoutrrr v0.13.2
#
# One would expect: the title that is given to Send reaches every service: as a title where it has one, before the
#   text where it has none.
# Instead: Google Chat, Rocket.Chat, Signal, Zulip and the generic webhook without a template drop it without an
#   error. WeCom refuses the whole message because of it.
# Why it matters: a sender that says in the title which host is down sends "unreachable since 10:02" and nothing
#   more to half of its receivers, and nothing at all to one. Put it into the text.
# Source: pkg/services/*/: their Config has no field `title`; wecom's UpdateConfigFromParams returns an error for keys it lacks.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export GOTOOLCHAIN=local GOFLAGS=-mod=mod
go mod init finding >go.log 2>&1
go get github.com/nicholas-fedor/shoutrrr@v0.13.2 >go.log 2>&1 || { cat go.log >&2; exit 2; }

cat >main.go <<'EOF'
package main

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/nicholas-fedor/shoutrrr"
	"github.com/nicholas-fedor/shoutrrr/pkg/types"
)

// recorder answers every request itself, and keeps what it said.
type recorder struct{ said string }

func (r *recorder) RoundTrip(request *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(request.Body)
	if err != nil {
		return nil, err
	}
	r.said += request.URL.String() + string(body)
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(`{"ok":true}`)), Request: request}, nil
}

func main() {
	record := &recorder{}
	http.DefaultTransport = record
	http.DefaultClient = &http.Client{Transport: record}
	for _, address := range []string{
		"discord://token@1234",
		"telegram://110201543:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw@telegram?chats=@channel",
		"generic://example.org/hook?template=json",
		"generic://example.org/hook",
		"googlechat://chat.googleapis.com/v1/spaces/F/messages?key=k&token=t",
		"rocketchat://example.org/user/token/channel",
		"signal://example.org/+491234/+495678",
		"zulip://bot%40example.org:key@example.org/?stream=s&topic=t",
		"wecom://key",
	} {
		sender, err := shoutrrr.CreateSender(address)
		if err != nil {
			panic(err)
		}
		record.said = ""
		err = sender.Send("the text", &types.Params{"title": "pve1"})[0]
		name, _ := url.Parse(address)
		fmt.Printf("%s %s: text %t, title %t, error %v\n", name.Scheme, name.RawQuery, strings.Contains(strings.ReplaceAll(record.said, "+", " "), "the text"), strings.Contains(record.said, "pve1"), err)
	}
}
EOF
go get . >go.log 2>&1 || { cat go.log >&2; exit 2; }
go run . >got 2>go.log || { cat go.log >&2; exit 2; }

cat >want <<'EOF'
discord : text true, title true, error <nil>
telegram chats=@channel: text true, title true, error <nil>
generic template=json: text true, title true, error <nil>
generic : text true, title false, error <nil>
googlechat key=k&token=t: text true, title false, error <nil>
rocketchat : text true, title false, error <nil>
signal : text true, title false, error <nil>
zulip stream=s&topic=t: text true, title false, error <nil>
wecom : text false, title false, error updating params: not a valid config key: title (valid keys: [key mentioned_list mentioned_mobile_list])
EOF
go list -m github.com/nicholas-fedor/shoutrrr
cat got
diff -u want got >&2 || { echo 'the behaviour has changed' >&2; exit 1; }
