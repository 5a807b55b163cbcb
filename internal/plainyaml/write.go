package plainyaml

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"time"

	"gopkg.in/yaml.v3"
)

// Marshal is the YAML of the struct that v points to.
func Marshal(v any) ([]byte, error) {
	var w writer
	value := reflect.ValueOf(v).Elem()
	if shapeOf(value.Type()) == nil || allOmitted(value) {
		return slow(v)
	}
	err := w.structure(value, 0)
	if errors.Is(err, errNotPlain) {
		return slow(v)
	}
	return w.out, err
}

type writer struct{ out []byte }

func (w *writer) margin(depth int) {
	for range depth {
		w.out = append(w.out, ' ')
	}
}

// structure writes a struct's fields, each on a line of its own that begins at depth.
func (w *writer) structure(v reflect.Value, depth int) error {
	for _, f := range shapeOf(v.Type()).fields {
		value := v.Field(f.index)
		if f.omitEmpty && empty(value) {
			continue
		}
		start := len(w.out)
		w.margin(depth)
		w.out = append(append(w.out, f.name...), ':')
		ok, err := w.value(value, depth)
		if err != nil {
			return err
		}
		if !ok {
			w.out = w.out[:start]
			text, err := slow(map[string]any{f.name: value.Interface()})
			if err != nil {
				return fmt.Errorf("%s: %w", f.name, err)
			}
			if err := w.indented(text, depth); err != nil {
				return err
			}
		}
	}
	return nil
}

// indented writes text that begins at the margin further in.
func (w *writer) indented(text []byte, depth int) error {
	if hasOtherBreaks(text) {
		return errNotPlain
	}
	for line := range bytes.Lines(text) {
		if len(line) > 1 {
			w.margin(depth)
		}
		w.out = append(w.out, line...)
	}
	return nil
}

// value writes what follows a key and its colon. ok is false where yaml.v3 must do it.
func (w *writer) value(v reflect.Value, depth int) (ok bool, err error) {
	if v.Kind() == reflect.Pointer && !v.IsNil() {
		v = v.Elem()
	}
	switch {
	case v.Type() == timeType || v.Kind() != reflect.Struct && v.Kind() != reflect.Slice:
		w.out = append(w.out, ' ')
		ok = w.scalar(v)
		w.out = append(w.out, '\n')
		return ok, nil
	case v.Kind() == reflect.Struct:
		if shapeOf(v.Type()) == nil || allOmitted(v) {
			return false, nil
		}
		w.out = append(w.out, '\n')
		return true, w.structure(v, depth+indent)
	}
	if special(v.Type()) || v.Type().Elem().Kind() == reflect.Uint8 {
		return false, nil
	}
	if v.Len() == 0 {
		w.out = append(w.out, " []\n"...)
		return true, nil
	}
	w.out = append(w.out, '\n')
	for i := range v.Len() {
		if err := w.item(v.Index(i), depth+indent); err != nil {
			return false, err
		}
	}
	return true, nil
}

// item writes an item of a list, whose dash stands at depth.
func (w *writer) item(v reflect.Value, depth int) error {
	start := len(w.out)
	inner := v
	if v.Kind() == reflect.Pointer && !v.IsNil() {
		inner = v.Elem()
	}
	if inner.Kind() == reflect.Struct && inner.Type() != timeType && shapeOf(inner.Type()) != nil && !allOmitted(inner) {
		if err := w.structure(inner, depth+indent); err != nil {
			return err
		}
		w.out[start+depth] = '-'
		return nil
	}
	w.margin(depth)
	w.out = append(w.out, "- "...)
	if v.Kind() != reflect.Pointer && w.scalar(v) {
		w.out = append(w.out, '\n')
		return nil
	}
	w.out = w.out[:start]
	text, err := slow([]any{v.Interface()})
	if err != nil {
		return err
	}
	return w.indented(text, depth)
}

// scalar writes one word, if it is plain.
func (w *writer) scalar(v reflect.Value) bool {
	if v.Type() == timeType {
		w.out = timeOf(v).AppendFormat(w.out, time.RFC3339Nano)
		return true
	}
	if special(v.Type()) {
		return false
	}
	switch v.Kind() {
	case reflect.String:
		if v.Len() == 0 {
			w.out = append(w.out, `""`...)
			return true
		}
		w.out = append(w.out, v.String()...)
		return plain(v.String())
	case reflect.Int:
		w.out = strconv.AppendInt(w.out, v.Int(), 10)
		return true
	case reflect.Float64:
		w.out = strconv.AppendFloat(w.out, v.Float(), 'g', -1, 64)
		return !math.IsInf(v.Float(), 0) && !math.IsNaN(v.Float())
	case reflect.Bool:
		w.out = strconv.AppendBool(w.out, v.Bool())
		return true
	}
	return false
}

// allOmitted reports whether nothing of a struct would be written.
func allOmitted(v reflect.Value) bool {
	for _, f := range shapeOf(v.Type()).fields {
		if !f.omitEmpty || !empty(v.Field(f.index)) {
			return false
		}
	}
	return true
}

// empty reports whether omitempty leaves a value out.
func empty(v reflect.Value) bool {
	switch {
	case v.Type() == timeType:
		return timeOf(v).IsZero()
	case v.Kind() != reflect.Pointer && special(v.Type()):
		if z, ok := v.Interface().(yaml.IsZeroer); ok {
			return z.IsZero()
		}
	}
	switch v.Kind() {
	case reflect.Slice, reflect.Map, reflect.String:
		return v.Len() == 0
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() && !empty(v.Field(i)) {
				return false
			}
		}
		return true
	}
	return v.IsZero()
}
