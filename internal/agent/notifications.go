package agent

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	"gitops-agent/internal/notify"
	"gitops-agent/reconcile/event"
)

// Defaults of routes.
const (
	defaultGroupWait = 2 * time.Second
	defaultRepeat    = 24 * time.Hour
)

// notificationsFile is the file that remembers which receivers took which problems, in the state directory.
const notificationsFile = "notifications.json"

// notificationSettings returns the receivers and routes of the config, and every problem that needs no file to be found.
func (c Config) notificationSettings() (notify.Settings, error) {
	n := c.Notifications
	settings := notify.Settings{Cluster: c.Cluster.Name, Link: n.StatusURL}
	var problems []error
	if u, err := url.Parse(n.StatusURL); n.StatusURL != "" && (err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" || u.User != nil) {
		problems = append(problems, errors.New("notifications.status_url: want https://host/path without credentials"))
	}
	names := make(map[string]bool, len(n.Receivers))
	for i, r := range n.Receivers {
		field := fmt.Sprintf("notifications.receivers[%d]", i)
		problems = append(problems, r.problems(field)...)
		if names[r.Name] {
			problems = append(problems, fmt.Errorf("%s.name: %q is the name of two receivers", field, r.Name))
		}
		names[r.Name] = true
		settings.Receivers = append(settings.Receivers, r.receiver(field))
	}
	for i, r := range n.Routes {
		field := fmt.Sprintf("notifications.routes[%d]", i)
		if !names[r.Receiver] {
			problems = append(problems, fmt.Errorf("%s.receiver: got %q, want the name of one of notifications.receivers", field, r.Receiver))
		}
		route, err := r.route(field)
		settings.Routes, problems = append(settings.Routes, route), append(problems, err)
	}
	return settings, errors.Join(problems...)
}

// problems returns what is wrong with the fields of a receiver.
func (r ReceiverConfig) problems(field string) []error {
	var problems []error
	refuse := func(wrong bool, text string) {
		if wrong {
			problems = append(problems, fmt.Errorf("%s.%s", field, text))
		}
	}
	email := r.Type == string(notify.Email)
	refuse(r.Name == "", "name is required")
	refuse(!slices.Contains(notify.Kinds(), notify.Kind(r.Type)), fmt.Sprintf("type: got %q, want one of %s", r.Type, strings.Join(texts(notify.Kinds()), ", ")))
	refuse(!email && (r.URL == "") == (r.URLFile == ""), "url: exactly one of url and url_file is required")
	refuse(email && r.URL+r.URLFile+r.TokenFile != "", "email: url, url_file and token_file are for other types")
	refuse(!email && r.Email.Address+r.Email.From != "", "email: is for the type email")
	refuse(r.Type == string(notify.Shoutrrr) && r.TokenFile+r.CAFile != "", "url_file: the URL of shoutrrr contains everything, so token_file and ca_file are not possible")
	refuse(r.Type == string(notify.Shoutrrr) && r.URL != "", "url: a URL of shoutrrr contains secrets, so write it to a file and name it in url_file")
	refuse((r.Email.Username == "") != (r.Email.PasswordFile == ""), "email: username and password_file are required together")
	if u, err := url.Parse(r.URL); err != nil || u.User != nil {
		refuse(true, "url: it must be valid and must not contain credentials; url_file is for URLs with secrets")
	}
	return problems
}

func (r ReceiverConfig) receiver(field string) notify.Receiver {
	receiver := notify.Receiver{
		Name: r.Name, Kind: notify.Kind(r.Type), CAFile: r.CAFile, Timeout: time.Duration(r.Timeout),
		URL:   func() (string, error) { return r.URL, nil },
		Token: func() (string, error) { return readBearer(field+".token_file", r.TokenFile) },
		Email: notify.EmailOptions{
			Address: r.Email.Address, TLS: notify.TLSMode(cmp.Or(r.Email.TLS, string(notify.StartTLS))), From: r.Email.From, To: r.Email.To, Username: r.Email.Username,
			Password: func() (string, error) { return readFilled(field+".email.password_file", r.Email.PasswordFile) },
		},
	}
	if r.URLFile != "" {
		receiver.URL = func() (string, error) { return readFilled(field+".url_file", r.URLFile) }
	}
	return notify.NewReceiver(receiver)
}

// readFilled is ReadToken, with an error for an empty file.
func readFilled(field, path string) (string, error) {
	text, err := ReadToken(field, path)
	if err == nil && text == "" && path != "" {
		return "", fmt.Errorf("%s: %s is empty", field, path)
	}
	return text, err
}

// route returns the route, and every problem of its fields.
func (r RouteConfig) route(field string) (notify.Route, error) {
	route := notify.Route{
		Receiver: r.Receiver, Events: r.Events, Severity: notify.Severity(cmp.Or(r.Severity, string(notify.Info))), Guests: r.Guests, Tags: r.Tags,
		GroupWait: cmp.Or(time.Duration(r.GroupWait), defaultGroupWait), RepeatInterval: cmp.Or(time.Duration(r.RepeatInterval), defaultRepeat),
	}
	var problems []error
	if !slices.Contains(notify.Severities(), route.Severity) {
		problems = append(problems, fmt.Errorf("%s.severity: got %q, want info, warning or error", field, r.Severity))
	}
	for _, pattern := range r.Events {
		known := slices.ContainsFunc(event.Names(), func(name event.Name) bool {
			matched, err := path.Match(pattern, string(name))
			return err == nil && matched
		})
		if !known {
			problems = append(problems, fmt.Errorf("%s.events: %q matches no event of docs/events.md", field, pattern))
		}
	}
	for _, pattern := range r.Guests {
		if _, err := path.Match(pattern, ""); err != nil {
			problems = append(problems, fmt.Errorf("%s.guests: got %q, want kind/name or a pattern such as VirtualMachine/web-*", field, pattern))
		}
	}
	for i, q := range r.QuietHours {
		hours, err := q.hours(fmt.Sprintf("%s.quiet_hours[%d]", field, i))
		route.Quiet, problems = append(route.Quiet, hours), append(problems, err)
	}
	return route, errors.Join(problems...)
}

func (q QuietHoursConfig) hours(field string) (notify.QuietHours, error) {
	hours := notify.QuietHours{Location: time.Local}
	var problems []error
	clock := func(name, text string) time.Duration {
		at, err := time.Parse("15:04", text)
		if err != nil {
			problems = append(problems, fmt.Errorf("%s.%s: got %q, want a time such as \"22:00\"", field, name, text))
		}
		return time.Duration(at.Hour())*time.Hour + time.Duration(at.Minute())*time.Minute
	}
	hours.From, hours.Until = clock("from", q.From), clock("until", q.Until)
	days := []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}
	for _, day := range q.Days {
		i := slices.Index(days, day)
		if i < 0 {
			problems = append(problems, fmt.Errorf("%s.days: got %q, want mon, tue, wed, thu, fri, sat or sun", field, day))
		}
		hours.Days = append(hours.Days, time.Weekday(max(i, 0)))
	}
	if q.Timezone != "" {
		location, err := time.LoadLocation(q.Timezone)
		if err != nil {
			return hours, errors.Join(append(problems, fmt.Errorf("%s.timezone: got %q, want a name such as Europe/Berlin; the host needs the package tzdata", field, q.Timezone))...)
		}
		hours.Location = location
	}
	return hours, errors.Join(problems...)
}

// checkNotifications returns every problem of the receivers' files and URLs. It sends nothing.
func (c Config) checkNotifications() error {
	settings, err := c.notificationSettings()
	if err != nil {
		return err
	}
	var problems []error
	for i, r := range settings.Receivers {
		if err := r.Check(); err != nil {
			problems = append(problems, fmt.Errorf("notifications.receivers[%d] (%s): %w", i, r.Name, err))
		}
	}
	return errors.Join(problems...)
}

// NotificationReceivers returns the receivers of the config.
func (c Config) NotificationReceivers() ([]notify.Receiver, error) {
	settings, err := c.notificationSettings()
	return settings.Receivers, err
}

// second returns the error of a call with two results.
func second[T any](_ T, err error) error { return err }

// readBearer is readFilled for a token that a request carries after the word Bearer. The error says what is wrong with its form, and quotes nothing of it.
func readBearer(field, path string) (string, error) {
	token, err := readFilled(field, path)
	if err != nil {
		return "", err
	}
	word, _, hasSpace := strings.Cut(token, " ")
	switch {
	case strings.ContainsAny(token, "\r\n"):
		err = errors.New("the file has several lines")
	case hasSpace && slices.Contains([]string{"bearer", "token", "authorization:"}, strings.ToLower(word)):
		err = errors.New("the file has words before the token")
	case strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }):
		err = errors.New("the token has a space or another character that no token has")
	case strings.Contains(token, "://"):
		err = errors.New("the file has a URL")
	}
	if err != nil {
		return "", fmt.Errorf("%s: %s: %w, want the token alone in one line", field, path, err)
	}
	return token, nil
}
