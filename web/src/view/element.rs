//! Elements, built by plain calls: `el("button").class("to").text("3")`. Yew's `html!` writes out
//! the code of every attribute and child at its place; these few functions are shared by all views,
//! which makes the page's module a good deal smaller.

use std::rc::Rc;

use js_sys::Reflect;
use web_sys::{Event, EventTarget};
use yew::virtual_dom::{AttrValue, Key, Listener, ListenerKind, VList, VNode, VTag, VText};
use yew::{Callback, Html};

use crate::message::Msg;

/// Where messages go.
pub(crate) type Say = Callback<Msg>;

/// An element that is being built.
pub(crate) struct El(Rc<VTag>);

/// An element without attributes and children.
#[inline(never)]
pub(crate) fn el(name: &'static str) -> El {
    El(Rc::new(VTag::new(name)))
}

/// Several nodes in the place of one.
pub(crate) fn list<T: Into<VNode>>(nodes: impl IntoIterator<Item = T>) -> Html {
    let nodes = nodes.into_iter().map(Into::into).collect();
    VNode::VList(Rc::new(VList::with_children(nodes, None)))
}

impl El {
    pub(crate) fn attr(self, name: &'static str, value: impl Into<AttrValue>) -> Self {
        self.put(name, value.into())
    }

    pub(crate) fn class(self, class: impl Into<AttrValue>) -> Self {
        self.put("class", class.into())
    }

    /// Those of `classes` that are not empty.
    #[inline(never)]
    pub(crate) fn classes(self, classes: &[&str]) -> Self {
        let mut all = String::new();
        for class in classes.iter().filter(|class| !class.is_empty()) {
            if !all.is_empty() {
                all.push(' ');
            }
            all += class;
        }
        if all.is_empty() { self } else { self.put("class", all.into()) }
    }

    pub(crate) fn id(self, id: impl Into<AttrValue>) -> Self {
        self.put("id", id.into())
    }

    #[inline(never)]
    pub(crate) fn number(self, name: &'static str, value: i64) -> Self {
        self.put(name, value.to_string().into())
    }

    /// An attribute that is there or not.
    #[inline(never)]
    pub(crate) fn flag(self, name: &'static str, on: bool) -> Self {
        if on { self.put(name, AttrValue::Static("")) } else { self }
    }

    /// What an input holds.
    #[inline(never)]
    pub(crate) fn value(self, value: String) -> Self {
        self.with(|tag| tag.set_value(AttrValue::from(value)))
    }

    /// Whether a radio button is pressed.
    #[inline(never)]
    pub(crate) fn checked(self, on: bool) -> Self {
        self.with(|tag| tag.set_checked(on))
    }

    /// Which of its neighbours this is, from one picture to the next.
    #[inline(never)]
    pub(crate) fn key(self, key: String) -> Self {
        self.with(|tag| tag.key = Some(Key::from(key)))
    }

    pub(crate) fn text(self, text: impl Into<AttrValue>) -> Self {
        self.push(VNode::VText(VText::new(text.into())))
    }

    pub(crate) fn child(self, child: impl Into<VNode>) -> Self {
        self.push(child.into())
    }

    /// A child that is there or not; its neighbours stay the same elements.
    #[inline(never)]
    pub(crate) fn maybe(self, child: Option<El>) -> Self {
        self.push(child.map_or_else(VNode::default, VNode::from))
    }

    pub(crate) fn children<T: Into<VNode>>(self, children: impl IntoIterator<Item = T>) -> Self {
        children.into_iter().fold(self, |el, child| el.push(child.into()))
    }

    /// Text in which the core marks names with backticks.
    #[inline(never)]
    pub(crate) fn prose(self, text: &str) -> Self {
        text.split('`').enumerate().fold(self, |el, (place, part)| {
            let part = part.to_owned();
            if place % 2 == 1 { el.child(code(part)) } else { el.text(part) }
        })
    }

    /// Says `msg` when it is clicked.
    #[inline(never)]
    pub(crate) fn on_click(self, say: &Say, msg: Msg) -> Self {
        self.on(ListenerKind::onclick, say, move |_| Some(msg.clone()))
    }

    /// Says what becomes of the text of an input, or of the chosen value of a list.
    #[inline(never)]
    pub(crate) fn on_value(self, kind: ListenerKind, say: &Say, make: fn(&str) -> Option<Msg>) -> Self {
        self.on(kind, say, move |event| make(&value_of(event.target())))
    }

    /// Says what becomes of an event.
    pub(crate) fn on(
        self,
        kind: ListenerKind,
        say: &Say,
        make: impl Fn(&Event) -> Option<Msg> + 'static,
    ) -> Self {
        self.listen(kind, say, Box::new(make))
    }

    #[inline(never)]
    fn listen(self, kind: ListenerKind, say: &Say, make: Make) -> Self {
        let listener = Rc::new(On { kind, say: say.clone(), make });
        self.with(|tag| {
            tag.add_listener(listener);
        })
    }

    #[inline(never)]
    fn put(self, name: &'static str, value: AttrValue) -> Self {
        self.with(|tag| tag.add_attribute(name, value))
    }

    #[inline(never)]
    fn push(self, child: VNode) -> Self {
        self.with(|tag| tag.add_child(child))
    }

    fn with(mut self, change: impl FnOnce(&mut VTag)) -> Self {
        // Nobody else has it before it is built.
        if let Some(tag) = Rc::get_mut(&mut self.0) {
            change(tag);
        }
        self
    }
}

impl From<El> for VNode {
    fn from(el: El) -> Self {
        Self::VTag(el.0)
    }
}

type Make = Box<dyn Fn(&Event) -> Option<Msg>>;

/// A listener of any kind.
struct On {
    kind: ListenerKind,
    say: Say,
    make: Make,
}

impl Listener for On {
    fn kind(&self) -> ListenerKind {
        self.kind.clone()
    }

    fn handle(&self, event: Event) {
        if let Some(msg) = (self.make)(&event) {
            self.say.emit(msg);
        }
    }

    fn passive(&self) -> bool {
        false
    }
}

/// What an input, a text area or a list holds.
pub(crate) fn value_of(target: Option<EventTarget>) -> String {
    let value = target.and_then(|target| Reflect::get(&target, &"value".into()).ok());
    value.and_then(|value| value.as_string()).unwrap_or_default()
}

// What many views have.

pub(crate) fn span(class: &'static str, text: impl Into<AttrValue>) -> El {
    el("span").class(class).text(text)
}

pub(crate) fn code(text: impl Into<AttrValue>) -> El {
    el("code").text(text)
}

/// A button of the usual looks.
pub(crate) fn button(id: &'static str, text: &'static str, say: &Say, msg: Msg) -> El {
    el("button").attr("type", "button").class("button").id(id).text(text).on_click(say, msg)
}

/// A list to choose from. The browser keeps what the reader chose; what is chosen is said by
/// `data-value`, and set after each change of the page.
pub(crate) fn select(
    id: impl Into<AttrValue>,
    chosen: usize,
    options: impl IntoIterator<Item = AttrValue>,
) -> El {
    let option = |(index, text): (usize, AttrValue)| el("option").number("value", index as i64).text(text);
    let select = el("select").id(id).number("data-value", chosen as i64);
    select.children(options.into_iter().enumerate().map(option))
}
