//! manage_members: the members of the caller's tenant.

use vocabulary::{Call, Caller, Member, MemberCall, MemberReply, Role};

use super::DEV_USER;
use super::wire::ServerEvent;
use super::wire::parts::{ErrorCode, MemberMeta, MemberRole};

/// A call for what a client wants, or which field is missing. Fields that are there were checked.
pub fn call(
    dev_mode: bool,
    action: &str,
    user_id: Option<&str>,
    role: Option<&str>,
) -> Result<Call, (ErrorCode, String)> {
    let missing = |field: &str| {
        let message = format!("manage_members: {field} is missing for {action}");
        (ErrorCode::InvalidMessage, message)
    };
    let id = || {
        let user_id = user_id.ok_or_else(|| missing("userId"))?;
        Ok(own_id(dev_mode, user_id))
    };
    let call = match action {
        "list" => MemberCall::List,
        "remove" => MemberCall::Remove { id: id()? },
        // The last one that the table of messages lets through.
        _ => MemberCall::SetRole {
            id: id()?,
            role: role.and_then(Role::parse).ok_or_else(|| missing("role"))?,
        },
    };
    Ok(Call::Members(call))
}

pub fn answer(dev_mode: bool, reply: &MemberReply, answer: impl FnOnce(ServerEvent<'_>)) {
    match reply {
        MemberReply::List(members) => {
            let members = members.iter().map(|member| meta(dev_mode, member));
            let members = members.collect();
            answer(ServerEvent::MemberList { members });
        }
        MemberReply::Set(member) => answer(ServerEvent::MemberUpdated {
            user_id: shown_id(dev_mode, &member.id),
            role: wire_role(member.role),
        }),
        MemberReply::Removed(id) => answer(ServerEvent::MemberRemoved {
            user_id: shown_id(dev_mode, id),
        }),
    }
}

fn meta<'a>(dev_mode: bool, member: &'a Member) -> MemberMeta<'a> {
    // Whoever runs the server is a member without a record.
    let recorded = (member.created_at.millis() > 0).then_some(member);
    MemberMeta {
        user_id: shown_id(dev_mode, &member.id),
        role: wire_role(member.role),
        created_at: recorded.map(|member| member.created_at.millis()),
        updated_at: recorded.map(|member| member.updated_at.millis()),
        email: member.email.as_deref(),
        name: member.name.as_deref(),
    }
}

fn wire_role(role: Role) -> MemberRole {
    match role {
        Role::Owner => MemberRole::Owner,
        Role::Admin => MemberRole::Admin,
        Role::BillingAdmin => MemberRole::BillingAdmin,
        Role::Member => MemberRole::Member,
        Role::Viewer => MemberRole::Viewer,
    }
}

/// A lone user is shown as the developer of the protocol's dev mode.
fn shown_id(dev_mode: bool, id: &str) -> &str {
    match dev_mode && id == Caller::local().member {
        true => DEV_USER,
        false => id,
    }
}

/// And is meant by that name.
fn own_id(dev_mode: bool, shown: &str) -> String {
    match dev_mode && shown == DEV_USER {
        true => Caller::local().member,
        false => shown.to_owned(),
    }
}
