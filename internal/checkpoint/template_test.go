package checkpoint

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"gopkg.in/yaml.v3"

	"ralph-loop/internal/learn"
)

// The annotated template of progress.log in docs is made from the model: each key with the comment of its field. With
// -update it is written anew.
func TestTemplate(t *testing.T) {
	const name = "../../docs/progress.log.yaml"
	comments := fieldComments(t, "model.go", "../learn/windows.go")
	var doc yaml.Node
	p := sampleProgress()
	if err := doc.Encode(p); err != nil {
		t.Fatal(err)
	}
	annotate(&doc, reflect.TypeOf(*p), comments)
	var b bytes.Buffer
	b.WriteString("# .sprint-state/ralph-loop/progress.log, annotated: made from the model by `go test ./internal/checkpoint -run\n" +
		"# TestTemplate -update`. Keys may be added, never renamed. The file itself ends in a line that proves it whole.\n")
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	if err := enc.Encode(&doc); err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(name, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(have, b.Bytes()) {
		t.Errorf("docs/progress.log.yaml is not what the model says; write it anew with -update:\n%s", b.String())
	}
	var back Progress
	dec := yaml.NewDecoder(bytes.NewReader(have))
	dec.KnownFields(true)
	if err := dec.Decode(&back); err != nil {
		t.Errorf("the template does not read as a state: %v", err)
	}
}

// sampleProgress has a value in every field.
func sampleProgress() *Progress {
	at := time.Date(2026, 5, 8, 10, 30, 0, 0, time.UTC)
	p := &Progress{}
	fill(reflect.ValueOf(p).Elem(), at)
	p.Req = ReqProgress{Completed: 0, Total: 1, Current: "REQ-001", Status: Running, InfraStatus: "skipped"}
	p.Schema, p.Iteration, p.MaxIterations = SchemaVersion, 1, 15
	p.Order = []string{"REQ-001"}
	p.Requirements[0].ID, p.Requirements[0].Status, p.Requirements[0].BlockedBy = "REQ-001", InProgress, []string{"REQ-000"}
	p.Learnings.Permanent, p.Learnings.Contextual = []learn.Permanent{{}}, []learn.Contextual{{}}
	fill(reflect.ValueOf(&p.Learnings).Elem(), at)
	return p
}

// fill gives each exported field below v a value that stands for its kind.
func fill(v reflect.Value, at time.Time) {
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), at)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), at)
	case reflect.Struct:
		if v.Type() == reflect.TypeOf(at) {
			v.Set(reflect.ValueOf(at))
			return
		}
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				fill(v.Field(i), at)
			}
		}
	case reflect.String:
		v.SetString("...")
	case reflect.Int:
		v.SetInt(1)
	case reflect.Float64:
		v.SetFloat(1.5)
	case reflect.Bool:
		v.SetBool(true)
	}
}

// annotate writes the comment of each struct field behind its key.
func annotate(n *yaml.Node, typ reflect.Type, comments map[string]string) {
	for typ.Kind() == reflect.Pointer {
		typ = typ.Elem()
	}
	switch {
	case n.Kind == yaml.SequenceNode && typ.Kind() == reflect.Slice:
		for _, item := range n.Content {
			annotate(item, typ.Elem(), comments)
		}
	case n.Kind == yaml.MappingNode && typ.Kind() == reflect.Struct:
		for i := 0; i+1 < len(n.Content); i += 2 {
			key, value := n.Content[i], n.Content[i+1]
			field, holder, ok := byKey(typ, key.Value)
			if !ok {
				continue
			}
			comment := comments[holder.Name()+"."+field.Name]
			if comment != "" && value.Kind == yaml.ScalarNode {
				value.LineComment = comment
			} else if comment != "" {
				key.HeadComment = comment
			}
			annotate(value, field.Type, comments)
		}
	}
}

// byKey finds the field that is written under a key, also that of an embedded struct.
func byKey(typ reflect.Type, key string) (field reflect.StructField, holder reflect.Type, ok bool) {
	for i := range typ.NumField() {
		f := typ.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		if name == key {
			return f, typ, true
		}
		if f.Anonymous && strings.Contains(options, "inline") {
			if field, holder, ok = byKey(f.Type, key); ok {
				return field, holder, true
			}
		}
	}
	return field, holder, false
}

// fieldComments are the comments of the structs' fields in these files, by "Type.Field".
func fieldComments(t *testing.T, names ...string) map[string]string {
	comments := map[string]string{}
	for _, name := range names {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok {
				return true
			}
			if s, ok := spec.Type.(*ast.StructType); ok {
				for _, f := range s.Fields.List {
					for _, id := range f.Names {
						comments[spec.Name.Name+"."+id.Name] = strings.TrimSpace(f.Comment.Text())
					}
				}
			}
			return true
		})
	}
	return comments
}
