package notify

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync"

	"github.com/nicholas-fedor/shoutrrr/pkg/util/jsonclient"

	"gitops-agent/internal/bounds"
)

// answerTelegram gives shoutrrr a client for Telegram whose requests always end with an answer of its API. Without a connection, or with another answer such as
// the page of a proxy, shoutrrr 0.13.2 returns no error, as if the message had been sent. No other service uses this client.
//
// Source: pkg/services/chat/telegram, GetErrorResponse returns nil for what is not JSON.
var answerTelegram = sync.OnceFunc(func() { //nolint:gochecknoglobals // it replaces a variable of the library, once
	jsonclient.DefaultClient = jsonclient.NewWithHTTPClient(&http.Client{Transport: telegramAnswers{}, Timeout: defaultTimeout})
})

// telegramAnswers is an http.RoundTripper.
type telegramAnswers struct{}

// maxTelegramAnswer bounds an answer.
const maxTelegramAnswer = 1 << 20

var telegramLimits = bounds.JSON{Bytes: maxTelegramAnswer, Values: 10_000, Elements: 1000, Depth: 32}

// RoundTrip implements http.RoundTripper.
func (telegramAnswers) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := http.DefaultTransport.RoundTrip(request)
	if err != nil {
		return telegramAnswer(request, http.StatusServiceUnavailable, err.Error())
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, maxTelegramAnswer))
	_ = response.Body.Close()
	if err != nil {
		return telegramAnswer(request, http.StatusServiceUnavailable, err.Error())
	}
	var answer struct {
		OK          bool   `json:"ok"`
		Description string `json:"description"`
	}
	if telegramLimits.Unmarshal(body, &answer) != nil || !answer.OK && answer.Description == "" {
		return telegramAnswer(request, http.StatusBadGateway, fmt.Sprintf("the answer with status %d is not from the API of Telegram", response.StatusCode))
	}
	response.Body = io.NopCloser(bytes.NewReader(body))
	return response, nil
}

// telegramAnswer returns a failed answer in the form of the API.
func telegramAnswer(request *http.Request, status int, description string) (*http.Response, error) {
	body, err := json.Marshal(map[string]any{"ok": false, "error_code": status, "description": description})
	if err != nil {
		return nil, err
	}
	return &http.Response{
		Status: http.StatusText(status), StatusCode: status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body)), Request: request,
	}, nil
}
