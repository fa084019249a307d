package notify

import (
	"errors"
	"net/url"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/nicholas-fedor/shoutrrr/pkg/services/chat/discord"
	"github.com/nicholas-fedor/shoutrrr/pkg/services/chat/lark"
	"github.com/nicholas-fedor/shoutrrr/pkg/services/chat/teams"
	"github.com/nicholas-fedor/shoutrrr/pkg/services/chat/telegram"
	"github.com/nicholas-fedor/shoutrrr/pkg/services/chat/wecom"
	"github.com/nicholas-fedor/shoutrrr/pkg/services/chat/zulip"
	"github.com/nicholas-fedor/shoutrrr/pkg/services/push/gotify"
	"github.com/nicholas-fedor/shoutrrr/pkg/types"
)

// limits are what a service takes of one message, and how it is sent so that nothing is lost.
type limits struct {
	size  int              // of a message; 0 is any
	count func(string) int // of what size is a number
	parts int              // messages that one group may become
	// titled says that the title in the URL of the service is a part of the text.
	titled bool
	params types.Params // for shoutrrr
	// refusals are errors that shoutrrr returns before it sends a request: another attempt fails, too.
	refusals []error
}

// Parts of a group: a chat shows several messages below each other, while each message to a phone or to an on-call service is an alert.
const (
	inChat  = 5
	asAlert = 1
)

func bytesOf(text string) int { return len(text) }

// charactersOf counts as JavaScript does.
func charactersOf(text string) int { return len(utf16.Encode([]rune(text))) }

// ntfyLimits are those of a server of ntfy with its default message-size-limit. It turns longer messages into attachments.
func ntfyLimits() limits { return limits{size: 4096, count: bytesOf, parts: asAlert} }

// shoutrrrLimits has a row for each service of shoutrrr, by its name in URLs.
//
// Source: shoutrrr 0.13.2, pkg/services, and the documentation of the services where shoutrrr passes any text on. With splitLines, shoutrrr sends each line as
// an item of its own, and its batches of ten lines share their memory, so that Discord gets some lines twice and others never. For Teams, Matrix and Bark the
// size leaves room for the rest of the request.
func shoutrrrLimits() map[string]limits {
	none := limits{parts: asAlert}
	googleChat := limits{size: 4096, count: bytesOf, parts: inChat}
	return map[string]limits{
		"discord": {size: 2000, count: charactersOf, parts: inChat, params: types.Params{"splitlines": "no"}, refusals: []error{
			discord.ErrEmptyMessage, discord.ErrEmptyURL, discord.ErrInvalidScheme, discord.ErrInvalidHost, discord.ErrInvalidURLPrefix, discord.ErrMalformedURL,
		}},
		"telegram":   {size: 4096, count: bytesOf, parts: inChat, titled: true, refusals: []error{telegram.ErrMessageTooLong}},
		"googlechat": googleChat,
		"hangouts":   googleChat,
		"lark": {size: 4096, count: bytesOf, parts: inChat, refusals: []error{
			lark.ErrLargeMessage, lark.ErrInvalidHost, lark.ErrNoPath, lark.ErrMissingHost, lark.ErrInvalidSignature,
		}},
		"wecom":      {size: 2048, count: bytesOf, parts: inChat, refusals: []error{wecom.ErrLargeMessage, wecom.ErrKeyRequired}},
		"zulip":      {size: 10_000, count: bytesOf, parts: inChat, refusals: []error{zulip.ErrMessageTooLong, zulip.ErrTopicTooLong, zulip.ErrInvalidHost}},
		"slack":      {size: 16_000, count: charactersOf, parts: inChat},
		"mattermost": {size: 16_383, count: utf8.RuneCountInString, parts: inChat},
		"rocketchat": {size: 5000, count: charactersOf, parts: inChat},
		"matrix":     {size: 20_000, count: bytesOf, parts: inChat},
		"signal":     {size: 2000, count: bytesOf, parts: inChat},
		"teams": {size: 16_000, count: bytesOf, parts: inChat, refusals: []error{
			teams.ErrMissingHost, teams.ErrInvalidHostFormat, teams.ErrInvalidWebhookURL, teams.ErrInvalidWebhookComponents, teams.ErrInvalidPartLength, teams.ErrMissingExtraID,
		}},
		"notifiarr": {size: 2000, count: charactersOf, parts: inChat},
		"pushover":  {size: 1024, count: utf8.RuneCountInString, parts: asAlert},
		"ntfy":      ntfyLimits(),
		"bark":      {size: 2048, count: bytesOf, parts: asAlert},
		"join":      {size: 1000, count: bytesOf, parts: asAlert}, // it is a part of an address
		"pagerduty": {size: 1024, count: utf8.RuneCountInString, parts: asAlert},
		"opsgenie":  {size: 15_000, count: utf8.RuneCountInString, parts: asAlert},
		"gotify":    {parts: asAlert, refusals: []error{gotify.ErrEmptyMessage, gotify.ErrInvalidToken, gotify.ErrInvalidPriority, gotify.ErrInvalidDate}},
		"ifttt":     none, "pushbullet": none, "generic": none, "smtp": none, "logger": none,
	}
}

// limitsOf returns the limits for a URL of shoutrrr.
func limitsOf(text string) limits {
	scheme, _, _ := strings.Cut(text, ":")
	scheme, _, _ = strings.Cut(scheme, "+")
	l := shoutrrrLimits()[strings.ToLower(scheme)]
	if l.parts == 0 {
		l.parts = asAlert
	}
	if u, err := url.Parse(text); err == nil && l.titled {
		for key, values := range u.Query() {
			if strings.EqualFold(key, "title") {
				l.size = max(l.size-l.count(strings.Join(values, ""))-1, 1)
			}
		}
	}
	return l
}

// isRefusal reports whether an error came without a request.
func (l limits) isRefusal(err error) bool {
	return slices.ContainsFunc(l.refusals, func(refusal error) bool { return errors.Is(err, refusal) })
}

// split returns the messages that a message becomes. Their texts, as the function gives them, fit into the limits. Events that do not fit into the last one are
// counted, and one event that is too long alone is shortened.
func (l limits) split(m Message, text func(Message) string) []Message {
	fits := func(m Message) bool { return l.size == 0 || l.count(text(m)) <= l.size }
	if fits(m) {
		return []Message{m}
	}
	var parts []Message
	for rest := m.Events; len(rest) > 0; {
		part := m
		part.part, part.parts = min(len(parts)+1, l.parts), l.parts
		isLast := len(parts)+1 == l.parts
		take := func(n int) Message {
			part.Events, part.More, part.Link = rest[:n], 0, ""
			if n == len(rest) || isLast {
				part.More, part.Link = m.More+len(rest)-n, m.Link
			}
			return part
		}
		n := 1
		for n < len(rest) && fits(take(n+1)) {
			n++
		}
		part = take(n)
		for most := l.size; most > 1 && !fits(part); most = most * 3 / 4 {
			part.most = most
		}
		parts, rest = append(parts, part), rest[n:]
		if isLast {
			break
		}
	}
	for i := range parts {
		parts[i].parts = len(parts)
	}
	return parts
}
