package replay

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// A Recorder is a transport that passes everything on. It keeps the answer to the last read of an object, and one write and
// the answer to that.
type Recorder struct {
	Next    http.RoundTripper
	Read    *body
	Request *Request
	Status  int
	Answer  *body
}

// Reset forgets the read and the write.
func (r *Recorder) Reset() { *r = Recorder{Next: r.Next} }

// RoundTrip implements http.RoundTripper. A second write is an error, because a step has one.
func (r *Recorder) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.Method == http.MethodGet {
		return r.read(request)
	}
	if r.Request != nil {
		return nil, fmt.Errorf("%s %s is the second write of a step", request.Method, request.URL)
	}
	sent, again, err := readAll(request.Body)
	if err != nil {
		return nil, err
	}
	parsed, err := parseBody(request.Header.Get("Content-Type"), sent)
	if err != nil {
		return nil, err
	}
	r.Request = &Request{
		Method: request.Method, URL: request.URL.RequestURI(), ContentType: parsed.contentType, Object: parsed.object,
	}
	request = request.Clone(request.Context())
	request.Body = again
	response, err := r.Next.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	r.Status = response.StatusCode
	r.Answer, err = bodyOf(response)
	return response, err
}

// read passes on a read, and keeps the answer if that is an object. Other reads are discovery.
func (r *Recorder) read(request *http.Request) (*http.Response, error) {
	response, err := r.Next.RoundTrip(request)
	if err != nil || response.StatusCode != http.StatusOK || !strings.Contains(request.URL.Path, "/namespaces/") {
		return response, err
	}
	r.Read, err = bodyOf(response)
	return response, err
}

// bodyOf returns the body of an answer, which can still be read.
func bodyOf(response *http.Response) (*body, error) {
	received, again, err := readAll(response.Body)
	if err != nil {
		return nil, err
	}
	response.Body = again
	parsed, err := parseAnswer(response.Header.Get("Content-Type"), received)
	return &parsed, err
}

// readAll reads a body, and returns another that can be read again.
func readAll(from io.ReadCloser) (data []byte, again io.ReadCloser, err error) {
	data, err = io.ReadAll(from)
	return data, io.NopCloser(bytes.NewReader(data)), errors.Join(err, from.Close())
}

// A player is a transport that gives each request of a step the recorded answer.
type player struct {
	answer   *playedAnswer // nil if no request is expected
	requests int
}

// A playedAnswer is the answer to a request with the method.
type playedAnswer struct {
	method, contentType string
	status              int
	body                []byte
}

// RoundTrip implements http.RoundTripper.
func (p *player) RoundTrip(request *http.Request) (*http.Response, error) {
	p.requests++
	if p.answer == nil {
		return nil, fmt.Errorf("%s %s was not recorded: run make bench-record", request.Method, request.URL)
	}
	if request.Method != p.answer.method {
		return nil, fmt.Errorf("%s %s instead of the recorded %s: run make bench-record", request.Method, request.URL, p.answer.method)
	}
	return &http.Response{
		StatusCode: p.answer.status, Proto: "HTTP/2.0", ProtoMajor: 2,
		Header:        http.Header{"Content-Type": {p.answer.contentType}},
		Body:          io.NopCloser(bytes.NewReader(p.answer.body)),
		ContentLength: int64(len(p.answer.body)), Request: request,
	}, nil
}
