// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package accept

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/package-url/packageurl-go"

	"github.com/picketd/picket/agent/assets"
	"github.com/picketd/picket/agent/findings"
	"github.com/picketd/picket/agent/plain"
)

// vexComponent is a piece of software, by whatever identifies it.
type vexComponent struct {
	ID          string            `json:"@id"`
	Identifiers map[string]string `json:"identifiers"` // purl, cpe22, cpe23

	Hashes   jsontext.Value `json:"hashes"`
	Supplier jsontext.Value `json:"supplier"`
}

// vexProduct is what a statement is about: a component, or only some components of it.
type vexProduct struct {
	vexComponent
	Subcomponents []vexComponent `json:"subcomponents"`
}

// String is a product for people.
func (p vexProduct) String() string {
	text := p.vexComponent.String()
	if len(p.Subcomponents) > 0 {
		text += ", " + p.Subcomponents[0].String()
	}
	if len(p.Subcomponents) > 1 {
		text += ", …"
	}
	return text
}

func (c vexComponent) String() string {
	return cmp.Or(c.ID, strings.Join(slices.Sorted(maps.Values(c.Identifiers)), ", "), "a product without identifier")
}

// wrong says why a component cannot be understood, or nothing.
func (c vexComponent) wrong() string {
	for _, text := range []string{c.ID, c.Identifiers["purl"]} {
		if _, err := packageurl.FromString(text); err != nil && (strings.HasPrefix(text, "pkg:") || text != "" && text != c.ID) {
			return fmt.Sprintf("%q is no package URL: write it as pkg:TYPE/NAME@VERSION", plain.Line(text, 256))
		}
	}
	return ""
}

// matcher says of which findings of which assets a statement about a product speaks.
func (p vexProduct) matcher() func(subject, findings.Finding) bool {
	names, urls := p.identifiers()
	var within []packageurl.PackageURL
	for _, c := range p.Subcomponents {
		_, more := c.identifiers()
		within = append(within, more...)
	}
	in := func(urls []packageurl.PackageURL, f findings.Finding) bool {
		return slices.ContainsFunc(urls, func(u packageurl.PackageURL) bool { return isPackage(u, f.Package) })
	}
	return func(s subject, f findings.Finding) bool {
		isAsset := slices.Contains(names, s.name) || slices.ContainsFunc(urls, func(u packageurl.PackageURL) bool { return isImage(u, s.name) })
		if len(p.Subcomponents) > 0 {
			return isAsset && in(within, f)
		}
		return isAsset || in(urls, f)
	}
}

// identifiers are the package URLs of a component, and its other names, as an asset may have them.
func (c vexComponent) identifiers() (names []string, urls []packageurl.PackageURL) {
	for _, text := range []string{c.ID, c.Identifiers["purl"]} {
		if !strings.HasPrefix(text, "pkg:") {
			if text != "" {
				names = append(names, assets.Canonical(text))
			}
		} else if u, err := packageurl.FromString(text); err == nil {
			urls = append(urls, u)
		}
	}
	return names, urls
}

// isPackage says whether a package URL names a package, which is written as findings have it: name and version.
func isPackage(u packageurl.PackageURL, pkg string) bool {
	names := []string{u.Name}
	switch u.Type {
	case packageurl.TypeDebian, packageurl.TypeRPM, packageurl.TypeApk, packageurl.TypeAlpm: // the namespace is the distribution
	case packageurl.TypeMaven:
		names = append(names, u.Namespace+":"+u.Name)
	case packageurl.TypePyPi:
		pkg = strings.ReplaceAll(pkg, "_", "-")
	default:
		if u.Namespace != "" {
			names = []string{u.Namespace + "/" + u.Name}
		}
	}
	for _, name := range names {
		rest, ok := cutFold(pkg, name)
		switch {
		case !ok || rest != "" && rest[0] != ' ':
		case u.Version == "":
			return true
		case rest != "":
			if version := bare(rest[1:]); version == bare(u.Version) || version == bare(u.Qualifiers.Map()["epoch"]+":"+u.Version) {
				return true
			}
		}
	}
	return false
}

// bare is a version without the letter and the epoch that some write before it.
func bare(version string) string {
	return strings.TrimPrefix(strings.TrimPrefix(version, "0:"), "v")
}

func cutFold(s, prefix string) (rest string, ok bool) {
	if len(s) < len(prefix) || !strings.EqualFold(s[:len(prefix)], prefix) {
		return s, false
	}
	return s[len(prefix):], true
}

// isImage says whether a package URL of the type oci names an image that is an asset: REPOSITORY[:TAG][@DIGEST]. What the URL has of
// tag and digest, the asset must have.
func isImage(u packageurl.PackageURL, asset string) bool {
	qualifiers := u.Qualifiers.Map()
	repository := strings.ToLower(qualifiers["repository_url"])
	if u.Type != packageurl.TypeOCI || repository == "" {
		return false
	}
	if repository[strings.LastIndexByte(repository, '/')+1:] != strings.ToLower(u.Name) {
		repository += "/" + strings.ToLower(u.Name)
	}
	rest, ok := cutFold(asset, repository)
	rest, digest, _ := strings.Cut(rest, "@")
	tag, tagged := strings.CutPrefix(rest, ":")
	return ok && (rest == "" || tagged) && (u.Version == "" || u.Version == digest) && (qualifiers["tag"] == "" || qualifiers["tag"] == tag)
}
