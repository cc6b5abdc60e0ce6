// Package size tells how much memory an object takes that a cluster has written.
package size

import "reflect"

// Of is about how many bytes a value takes, in what it points to as well. It knows what objects of the API consist of, and
// counts what several share for each of them.
func Of(v any) int {
	value := reflect.ValueOf(v)
	if !value.IsValid() {
		return 0
	}
	return int(value.Type().Size()) + behind(value)
}

// behind is what a value takes beside itself.
func behind(v reflect.Value) int {
	size := 0
	switch v.Kind() {
	case reflect.String:
		size = v.Len()
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			size = int(v.Elem().Type().Size()) + behind(v.Elem())
		}
	case reflect.Slice:
		size = v.Cap() * int(v.Type().Elem().Size())
		for i := 0; i < v.Len() && pointing(v.Type().Elem().Kind()); i++ {
			size += behind(v.Index(i))
		}
	case reflect.Struct:
		for i := range v.NumField() { //nolint:modernize // v.Fields allocates for each field
			size += behind(v.Field(i))
		}
	case reflect.Map:
		for pairs := v.MapRange(); pairs.Next(); {
			size += 2*int(v.Type().Key().Size()+v.Type().Elem().Size()) + behind(pairs.Key()) + behind(pairs.Value())
		}
	}
	return size
}

// pointing tells whether values of a kind can take anything beside themselves.
func pointing(k reflect.Kind) bool { return k > reflect.Complex128 }
