// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package sockapi

import (
	"encoding/json"
	"maps"
	"net/http"
	"reflect"
	"regexp"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/picketd/picket/sockapi/client"
)

// openAPI makes the document of a table and a handler that serves it. Everything in it is read off the routes and the Go
// types that are decoded and encoded.
func openAPI(table []route, version string) (http.Handler, error) {
	doc, err := json.Marshal(describe(table, version))
	if err != nil {
		return nil, err
	}
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", strconv.Itoa(len(doc)))
		_, _ = w.Write(doc)
	}), nil
}

func describe(table []route, version string) *huma.OpenAPI {
	schemas := huma.NewMapRegistry("#/components/schemas/", huma.DefaultSchemaNamer)
	doc := &huma.OpenAPI{
		OpenAPI: "3.1.0",
		Info: &huma.Info{
			Title: "Picket", Version: version, Description: documentText,
			License: &huma.License{Name: "Apache License 2.0", Identifier: "Apache-2.0"},
		},
		Servers:    []*huma.Server{{URL: "http://picket", Description: "The daemon of this host, on its Unix socket; the name is not looked up."}},
		Security:   []map[string][]string{}, // the kernel says who calls; nothing in a request does
		Components: &huma.Components{Schemas: schemas},
	}
	d := describer{schemas}
	for _, r := range table {
		doc.AddOperation(d.operation(r))
	}
	requests := map[string]bool{}
	for _, r := range table {
		requests[r.body.Name()] = true
	}
	for name, s := range schemas.Map() {
		amend(s, schemas.TypeFromRef("#/components/schemas/"+name), requests[name])
	}
	return doc
}

const documentText = "The API on the socket of a host's daemon. Errors are problem+json with a code. Durations in requests are " +
	`strings such as "30s", in answers integers that end in _ms. Lengths of strings are limited in bytes. Unknown fields in a ` +
	"request are an error; those in an answer are to be ignored. x-access says who may make a call, of those whom the socket " +
	"lets in: anyone, the owner of the claim (its uid, and root), or an admin (root, and members of the admin group)."

type describer struct{ schemas huma.Registry }

func (d describer) operation(r route) *huma.Operation {
	op := &huma.Operation{
		Method: r.method, Path: r.path, OperationID: r.id, Summary: r.summary,
		Parameters: d.parameters(r),
		Responses:  map[string]*huma.Response{"default": d.problem("A problem that is not listed here.")},
		Extensions: map[string]any{"x-access": string(r.access)},
	}
	if r.takesBody() {
		op.RequestBody = &huma.RequestBody{Required: !r.mayBeEmpty(), Content: d.content("application/json", r.body)}
	}
	for _, code := range r.codes() {
		status := strconv.Itoa(code.Status())
		if op.Responses[status] == nil {
			op.Responses[status] = d.problem("A problem with the code " + string(code))
		} else {
			op.Responses[status].Description += " or " + string(code)
		}
	}
	for status, bodies := range r.answers {
		response := &huma.Response{Description: http.StatusText(status), Content: map[string]*huma.MediaType{}}
		for _, body := range bodies {
			if media, plain := body.(mediaType); plain {
				response.Content[string(media)] = &huma.MediaType{Schema: &huma.Schema{}}
			} else {
				maps.Copy(response.Content, d.content("application/json", reflect.TypeOf(body)))
			}
		}
		op.Responses[strconv.Itoa(status)] = response
	}
	return op
}

func (d describer) problem(description string) *huma.Response {
	return &huma.Response{
		Description: description,
		Content:     d.content("application/problem+json", reflect.TypeFor[client.Problem]()),
	}
}

func (d describer) content(media string, t reflect.Type) map[string]*huma.MediaType {
	return map[string]*huma.MediaType{media: {Schema: d.schemas.Schema(t, true, t.Name())}}
}

var describeParameter = regexp.MustCompile(`\{(\w+)\}`)

var parameterTexts = map[string]string{
	"id":    "The claim's id.",
	"asset": "The asset, percent-encoded: a slash is %2F.",
	"task":  "The task.",
	"name":  "The channel's name.",

	"digest": "The list's digest: SHA-256 over its assets' names, each with a line feed, in the list's order.",
	"part":   "The number of the part, from 0: of 1,000 assets each, but the last.",
	"report": "The report's name: 1 to 64 of A-Z a-z 0-9 . _ -.",
}

func (d describer) parameters(r route) (params []*huma.Param) {
	for _, m := range describeParameter.FindAllStringSubmatch(r.path, -1) {
		params = append(params, &huma.Param{
			Name: m[1], In: "path", Required: true, Description: parameterTexts[m[1]], Schema: &huma.Schema{Type: huma.TypeString},
		})
	}
	for i := range r.query.NumField() {
		f := r.query.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		schema := huma.SchemaFromField(d.schemas, f, name)
		params = append(params, &huma.Param{Name: name, In: "query", Description: schema.Description, Schema: schema})
	}
	return params
}

// amend says what the Go types mean and huma cannot know: lists are never null, a pointer to a struct is null or that
// struct, facts are an object, and an answer may get further fields.
func amend(s *huma.Schema, t reflect.Type, request bool) {
	if !request {
		s.AdditionalProperties = true
	}
	for i := range t.NumField() {
		name, option, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		p := s.Properties[name]
		switch kind := t.Field(i).Type.Kind(); {
		case p == nil:
			continue
		case p.Type == huma.TypeArray:
			p.Nullable = false
		case name == "facts":
			p.Type, p.AdditionalProperties = huma.TypeObject, true
		case p.Ref != "" && kind == reflect.Pointer && option == "":
			p = &huma.Schema{Description: p.Description, AnyOf: []*huma.Schema{{Ref: p.Ref}, {Type: "null"}}}
			s.Properties[name] = p
		case kind == reflect.Map && t.Field(i).Type.Elem().Kind() == reflect.Pointer:
			p.AdditionalProperties = &huma.Schema{AnyOf: []*huma.Schema{p.AdditionalProperties.(*huma.Schema), {Type: "null"}}}
		}
		p.PrecomputeMessages()
	}
}
